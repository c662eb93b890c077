"""Words of the panel that chooses gamma: key -> (en, zh)."""

from __future__ import annotations

SWEEP: dict[str, tuple[str, str]] = {
    "sweep.measure": ("Try every γ from 1 to 16", "把 γ 从 1 试到 16"),
    "sweep.invite": ("Choosing γ: how many drafts a round?", "选 γ：每轮打多少个草稿？"),
    "sweep.invite_text": (
        "Not yet measured for this run. The button writes its prompt on twice with every γ, at most {most} new tokens "
        "each time, and without drafts in turn, by the clock. The quicker of the two counts.",
        "这次运行还没有测过。按下面的按钮，就用每个 γ 把提示词各续写两遍，每遍最多 {most} 个新词元，并与不打草稿的解码轮流计时；两遍里取快的那遍。",
    ),
    "sweep.takes": (
        "At this model’s pace that takes about {minutes} min.",
        "按这个模型的速度，大约要 {minutes} 分钟。",
    ),
    "sweep.invite_table": (
        "Not yet measured for this run. The button writes its prompt on with every γ, at most {most} new tokens each time.",
        "这次运行还没有测过。按下面的按钮，就用每个 γ 把提示词各续写一遍，每遍最多 {most} 个新词元。",
    ),
    # While it is measured
    "sweep.timing_target": ("Timing passes of the target …", "正在给目标模型的计算计时……"),
    "sweep.at": ("γ {gamma} of {last} …", "γ = {gamma}，试到 {last} 为止……"),
    # The title and the reason
    "sweep.gain": (
        "γ = {gamma} is quickest here: {speedup} times plain decoding",
        "这里 γ = {gamma} 最快：是普通解码的 {speedup} 倍",
    ),
    "sweep.no_gain": (
        "No γ gains here: the best, γ = {gamma}, runs at {speedup} times plain decoding",
        "这里没有哪个 γ 能加速：最好的是 γ = {gamma}，速度只有普通解码的 {speedup} 倍",
    ),
    "sweep.nothing": (
        "No γ changes anything here: no draft was ever judged",
        "这里 γ 取多少都一样：一个草稿也没有检查过",
    ),
    "sweep.tokens": (
        "Most tokens a pass here: τ = {tau}, at γ = {gamma}",
        "这里 γ = {gamma} 时每遍得到的词元最多：τ = {tau}",
    ),
    "sweep.round": (
        "At γ = {gamma}, {tau} tokens a round for {cost} plain steps ({drafts} drafts at c = {c}, a check at T({count})/T(1) = "
        "{check}) give {allowed} times by passes alone (dashed).",
        "γ = {gamma} 时，一轮 {tau} 个词元，花 {cost} 个普通步（{drafts} 个草稿，每个 c = {c}；一次检查 T({count})/T(1) = {check}），"
        "只算前向（虚线）得 {allowed} 倍。",
    ),
    "sweep.round_free": (
        "At γ = {gamma}, {tau} tokens a round for a check at T({count})/T(1) = {check} plain steps give {allowed} times by "
        "passes alone (dashed); drafts cost next to nothing.",
        "γ = {gamma} 时，一轮 {tau} 个词元，花一次检查 T({count})/T(1) = {check} 个普通步，只算前向（虚线）得 {allowed} 倍；"
        "打草稿几乎不花时间。",
    ),
    "sweep.names": (
        "T(n): the target’s pass over n tokens; T(1) is a plain step. c: a pass of the draft in plain steps, on average.",
        "T(n)：目标模型一遍读 n 个词元的时间，T(1) 是一个普通步；c：草稿模型一遍平均合多少普通步。",
    ),
    "sweep.names_free": (
        "T(n): the target’s pass over n tokens; T(1) is a plain step.",
        "T(n)：目标模型一遍读 n 个词元的时间，T(1) 是一个普通步。",
    ),
    "sweep.not_paid": (
        "So a round costs more steps than it writes tokens.",
        "所以一轮花的步数比写出的词元还多。",
    ),
    "sweep.not_forward": (
        "All else (prompt, laws, draws, verdicts) takes that gain away.",
        "其余的事（读提示词、算分布、抽样、裁决）又把它用掉了。",
    ),
    "sweep.more": (
        "A larger γ costs more each round, and late drafts are seldom reached.",
        "γ 越大，每轮花费越多，而靠后的草稿很少轮得到。",
    ),
    "sweep.later": (
        "A draft counts only if all before it were accepted, so late ones add little.",
        "一个草稿要排在前面的全被接受才算数，所以靠后的增加得很少。",
    ),
    "sweep.table": (
        "{model} is a table: a pass costs one look-up, so there is no time to gain, and none is shown.",
        "{model} 是一张表：一遍只要查一次表，没有时间可省，所以不画时间。",
    ),
    "sweep.one_text": (
        "One prompt, one seed, at most {tokens} new tokens for each γ: another seed moves points and bars.",
        "一个提示词，一个种子，每个 γ 最多 {tokens} 个新词元：换个种子，点和条都会变。",
    ),
    "sweep.measured": (
        "Measured here: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; drafter: {drafter}.",
        "在本机测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；打草稿的是{drafter}。",
    ),
    "sweep.recorded": (
        "Recorded on: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; drafter: {drafter}.",
        "预先测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；打草稿的是{drafter}。",
    ),
    "sweep.twice": ("Each text was written twice; the quicker counts.", "每段文本写两遍，取快的那遍。"),
    # The picture
    "sweep.head_speedup": ("speed-up over plain decoding", "相对普通解码的速度"),
    "sweep.head_speedup_short": ("speed-up", "速度"),
    "sweep.head_tau": ("τ, tokens per pass of the target", "τ：目标模型每遍得到的词元数"),
    "sweep.head_tau_short": ("τ, tokens a pass", "τ：每遍词元数"),
    "sweep.head_places": (
        "accepted of those judged, by position (all γ)",
        "各位置被接受的比例（所有 γ 合计）",
    ),
    "sweep.head_places_short": ("accepted, by position", "各位置的接受率"),
    "sweep.axis": ("γ, drafts a round", "γ：每轮草稿数"),
    "sweep.name_measured": ("measured", "实测"),
    "sweep.name_predicted": ("passes alone", "只算前向"),
    "sweep.name_plain": ("as fast as plain decoding", "和普通解码一样快"),
    "sweep.name_plain_short": ("plain decoding", "普通解码"),
    "sweep.times": ("{value} ×", "{value} 倍"),
    "sweep.best": ("γ = {gamma}: {value} ×", "γ = {gamma}：{value} 倍"),
    "sweep.best_tau": ("γ = {gamma}: τ = {value}", "γ = {gamma}：τ = {value}"),
    "sweep.place": ("{share} of {judged}", "{judged} 个中的 {share}"),
    "sweep.place_hover": (
        "draft {place} of its round<br>judged {judged}, accepted {accepted}",
        "一轮里的第 {place} 个草稿<br>检查 {judged} 个，接受 {accepted} 个",
    ),
    "sweep.hover": ("γ = {gamma}, τ = {tau}", "γ = {gamma}，τ = {tau}"),
    "sweep.hover_measured": ("measured {value} ×", "实测 {value} 倍"),
    "sweep.hover_predicted": ("passes alone {value} ×", "只算前向 {value} 倍"),
}
