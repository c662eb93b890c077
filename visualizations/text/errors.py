"""Chinese for the messages of `decoding.errors`, by code; the English stands there."""

ERRORS: dict[str, str] = {
    "out_of_range": "{name} 是 {value}，应当为 {limit}：请在这个范围内取值。",
    "unknown_choice": "{name} 是 {value!r}，只能取下列之一：{choices}。",
}
