"""Words of the panel that chooses gamma: key -> (en, zh)."""

from __future__ import annotations

SWEEP: dict[str, tuple[str, str]] = {
    "sweep.measure": ("Try every γ from 1 to 16", "把 γ 从 1 试到 16"),
    "sweep.invite": ("Choosing γ: how many drafts a round?", "选 γ：每轮打多少个草稿？"),
    "sweep.invite_text": (
        "Not yet measured for this run. The button writes its prompt on with every γ, at most {most} new tokens each time, "
        "and without drafts in turn, by the clock. That takes about a minute.",
        "这次运行还没有测过。按下面的按钮，就用每个 γ 把提示词各续写一遍，每遍最多 {most} 个新词元，并与不打草稿的解码轮流计时。大约要一分钟。",
    ),
    "sweep.invite_table": (
        "Not yet measured for this run. The button writes its prompt on with every γ, at most {most} new tokens each time.",
        "这次运行还没有测过。按下面的按钮，就用每个 γ 把提示词各续写一遍，每遍最多 {most} 个新词元。",
    ),
    # While it is measured
    "sweep.timing_target": ("Timing passes of the target …", "正在给目标模型的计算计时……"),
    "sweep.timing_draft": ("Timing passes of the draft …", "正在给草稿模型的计算计时……"),
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
        "A round at γ = {gamma} has {drafts} drafts on average: they cost {drafts}c = {drafting} plain steps, their check "
        "T({count})/T(1) = {check}, {cost} in all; it writes τ = {tau} tokens. So the passes alone allow {allowed} times.",
        "γ = {gamma} 的一轮平均打 {drafts} 个草稿：打草稿花 {drafts}c = {drafting} 个普通步，检查花 T({count})/T(1) = {check} 个，"
        "一共 {cost} 个；写出 τ = {tau} 个词元。所以只算前向，可以快到 {allowed} 倍。",
    ),
    "sweep.round_free": (
        "A round at γ = {gamma} has {drafts} drafts on average: they cost next to nothing, their check T({count})/T(1) = "
        "{check} plain steps; it writes τ = {tau} tokens. So the passes alone allow {allowed} times.",
        "γ = {gamma} 的一轮平均打 {drafts} 个草稿：打草稿几乎不花时间，检查花 T({count})/T(1) = {check} 个普通步；写出 τ = {tau} "
        "个词元。所以只算前向，可以快到 {allowed} 倍。",
    ),
    "sweep.names": (
        "T(n): a pass of the target over n tokens; T(1) is a plain step; c: a pass of the draft in plain steps; τ: tokens per "
        "pass of the target.",
        "T(n)：目标模型一遍读 n 个词元的时间，T(1) 是一个普通步；c：草稿模型一遍合多少普通步；τ：目标模型每遍得到的词元数。",
    ),
    "sweep.not_paid": (
        "So a round costs more steps than it writes tokens.",
        "所以一轮花的步数比写出的词元还多。",
    ),
    "sweep.not_forward": (
        "Its passes alone would gain; the rest, such as laws, draws and verdicts, takes that away.",
        "只算前向本来能加速；其余的事（算分布、抽样、裁决）又把它用掉了。",
    ),
    "sweep.more": (
        "A larger γ costs more in every round, and late drafts are seldom reached.",
        "γ 越大，每轮花费越多，而靠后的草稿很少轮得到。",
    ),
    "sweep.line": (
        "Dashed: what the passes alone allow at each γ, by its τ and these times, as if all else took no time.",
        "虚线：按各个 γ 的 τ 和这些时间，只算前向能快到几倍，其余的事都当作不花时间。",
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
        "Each γ wrote one text of at most {tokens} new tokens, all from one seed, so large γ write much the same: another seed "
        "moves the points and the bars.",
        "每个 γ 只写一段文本，最多 {tokens} 个新词元，种子都一样，所以 γ 大的几段差不多：换个种子，点和条都会变。",
    ),
    "sweep.measured": (
        "Measured here: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; drafter: {drafter}.",
        "在本机测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；打草稿的是{drafter}。",
    ),
    "sweep.recorded": (
        "Recorded on: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; drafter: {drafter}.",
        "预先测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；打草稿的是{drafter}。",
    ),
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
    "sweep.name_predicted": ("predicted", "预测"),
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
    "sweep.hover_predicted": ("predicted {value} ×", "预测 {value} 倍"),
}
