"""Words of the panel that swaps the drafter: key -> (en, zh)."""

from __future__ import annotations

ALIGN: dict[str, tuple[str, str]] = {
    "align.measure": ("Race with every drafter", "让每种草稿来源都跑一遍"),
    "align.invite": ("Alignment: which drafter fits the target?", "对齐：哪种草稿和目标模型最合拍？"),
    "align.invite_text": (
        "Not yet measured for this run. The button writes its prompt on with every drafter, at γ = {gamma} and at most {most} new "
        "tokens each time, and without drafts in turn.",
        "这次运行还没有测过。按下面的按钮，就用每种草稿来源把提示词各续写一遍，γ = {gamma}，每遍最多 {most} 个新词元，并与不打草稿的解码轮流进行。",
    ),
    # While it is measured
    "align.loading": ("Making ready: {drafter} …", "正在准备：{drafter}……"),
    "align.at": ("Drafter {index} of {count}: {drafter} …", "第 {index} 种，共 {count} 种：{drafter}……"),
    # Names of drafters, inside a sentence and in the picture
    "align.name_trained": ("trained draft", "训练出的草稿模型"),
    "align.name_ngram+trained": ("look-up + trained draft", "查找 + 训练草稿"),
    "align.name_early": ("early layers", "前几层"),
    "align.name_ngram": ("n-gram look-up", "n 元组查找"),
    "align.name_random": ("random tokens", "随机词元"),
    "align.name_oracle": ("oracle", "先知"),
    # The title and what it says
    "align.gain": (
        "Quickest here: {drafter}, {speedup} times plain decoding",
        "这里最快的是{drafter}：速度是普通解码的 {speedup} 倍",
    ),
    "align.no_gain": (
        "No drafter gains here; the quickest, {drafter}, runs at {speedup} times plain decoding",
        "这里没有哪种草稿能加速；最快的是{drafter}，速度只有普通解码的 {speedup} 倍",
    ),
    "align.accepts": (
        "Most accepted here: {drafter}, α = {alpha}",
        "这里接受得最多的是{drafter}：α = {alpha}",
    ),
    "align.nothing": ("No drafter had anything judged here", "这里没有检查过任何草稿"),
    "align.lesson": (
        "The better q matches p, the more is accepted; but a drafter must also be cheap.",
        "q 越接近 p，接受的就越多；但草稿还必须便宜。",
    ),
    "align.lesson_table": ("The better q matches p, the more is accepted.", "q 越接近 p，接受的就越多。"),
    "align.oracle": (
        "The oracle is the target itself: α = {alpha}, but c = {cost}.",
        "先知就是目标模型自己：α = {alpha}，但 c = {cost}。",
    ),
    "align.oracle_table": (
        "The oracle is the target itself: α = {alpha}.",
        "先知就是目标模型自己：α = {alpha}。",
    ),
    "align.random": (
        "Random tokens cost next to nothing, but α = {alpha}.",
        "随机词元几乎不花时间，但 α = {alpha}。",
    ),
    "align.names": (
        "α: accepted of the drafts judged; τ: tokens per pass of the target; c: a pass of the draft in plain "
        "steps, on average.",
        "α：检查过的草稿里被接受的比例；τ：目标模型每遍得到的词元数；c：草稿模型一遍平均合多少普通步。",
    ),
    "align.names_table": (
        "α: accepted of the drafts judged; τ: tokens per pass of the target.",
        "α：检查过的草稿里被接受的比例；τ：目标模型每遍得到的词元数。",
    ),
    "align.table": (
        "{model} is a table: a pass costs one look-up, so no times are shown.",
        "{model} 是一张表：一遍只要查一次表，所以不列时间。",
    ),
    "align.left_out": ("Left out: {drafter} ({reason}).", "没有参加的：{drafter}（{reason}）。"),
    "align.why_no_draft": ("no draft was trained for {model}", "没有为 {model} 训练过草稿模型"),
    "align.why_draft_of_table": ("{model} is a table and has no layers", "{model} 是一张表，没有层"),
    "align.why_draft_unsupported": (
        "no draft can be made of the layers of {model}",
        "{model} 的层不能拿来做草稿",
    ),
    "align.why_draft_one_layer": ("{model} has one layer only", "{model} 只有一层"),
    "align.why_draft_other_target": (
        "it was trained for another target than {model}",
        "它是为别的目标模型训练的，不是为 {model}",
    ),
    "align.measured": (
        "Measured here: {model}, {dtype}, engine {engine}; γ = {gamma}; one prompt, one seed, at most {tokens} "
        "new tokens.",
        "在本机测得：{model}，{dtype}，引擎 {engine}；γ = {gamma}；一个提示词，一个种子，最多 {tokens} 个新词元。",
    ),
    "align.recorded": (
        "Recorded beforehand: {model}, {dtype}, engine {engine}; γ = {gamma}; one prompt, one seed, at most {tokens} "
        "new tokens.",
        "预先测得：{model}，{dtype}，引擎 {engine}；γ = {gamma}；一个提示词，一个种子，最多 {tokens} 个新词元。",
    ),
    # The picture
    "align.head_plain": ("plain decoding", "普通解码"),
    "align.head_alpha": ("accepted, α", "接受率 α"),
    "align.head_tau": ("τ", "τ"),
    "align.head_cost": ("c", "c"),
    "align.head_speedup": (
        "speed-up; line: plain decoding",
        "速度；竖线：普通解码",
    ),
    "align.head_speedup_short": ("speed-up", "速度"),
    "align.times": ("{value} ×", "{value} 倍"),
    "align.none": ("none", "没有"),
    "align.hover": (
        "{drafter}<br>judged {judged}, accepted {accepted}<br>{tokens} tokens in {passes} passes of the target",
        "{drafter}<br>检查 {judged} 个，接受 {accepted} 个<br>目标模型 {passes} 遍，{tokens} 个词元",
    ),
}
