"""Words of the panel that tests which rules keep the target's law, and of two corrections: key -> (en, zh)."""

from __future__ import annotations

LOSSLESS: dict[str, tuple[str, str]] = {
    "lossless.title": ("Is it lossless?", "它无损吗？"),
    "lossless.button": ("Draw and compare", "抽样比较"),
    "lossless.draws": ("Draws", "抽取次数"),
    "lossless.drawing": (
        "Drawing the first token {draws} times by each rule …",
        "正在用每条规则把第一个词元抽 {draws} 次……",
    ),
    "lossless.invite": (
        "The button writes the first token of this run {draws} times by each rule and compares the shares with the "
        "target’s law p. A lossless rule differs from p by chance only.",
        "按下按钮，每条规则都把这次运行的第一个词元写 {draws} 次，再把各词元的比例和目标分布 p 比较。无损的规则与 p 只差在偶然。",
    ),
    "lossless.nothing": (
        "In the first round of this run nothing was drafted, so no rule had anything to judge: the target wrote the token "
        "itself. Choose another drafter.",
        "这次运行的第一轮没有草稿，规则没有东西可判：词元是目标模型自己写的。换一个打草稿的试试。",
    ),
    "lossless.one": (
        "After temperature and filters only {token} is left for the first token, with probability 1. Every rule writes it, "
        "the lossy ones too, since none accepts a token of p = 0. A law of several tokens is needed to tell the rules apart.",
        "经过温度和过滤，第一个词元只剩{token}，概率是 1。每条规则都写它，有损的也一样，因为没有规则会接受 p = 0 的词元。"
        "要分出规则的差别，分布里得有几个词元。",
    ),
    "lossless.greedy": ("At temperature 0 that is so at every token.", "温度为 0 时，每个词元都是这样。"),
    # The finding
    "lossless.finding": (
        "Lossless rules stay in the noise; {rule} is {distance} away from the target’s law",
        "无损的规则只在噪声范围内；{rule}与目标分布相差 {distance}",
    ),
    "lossless.finding_exact": (
        "Lossless rules keep the target’s law; {rule} is {distance} away from it",
        "无损的规则保持目标分布；{rule}与它相差 {distance}",
    ),
    "lossless.finding_tied": (
        "Lossless rules stay in the noise; {rule} are each {distance} away from the target’s law",
        "无损的规则只在噪声范围内；{rule}与目标分布都相差 {distance}",
    ),
    "lossless.finding_exact_tied": (
        "Lossless rules keep the target’s law; {rule} are each {distance} away from it",
        "无损的规则保持目标分布；{rule}与它都相差 {distance}",
    ),
    "lossless.all_within": (
        "With {draws} draws no rule can be told from the target",
        "只抽 {draws} 次，看不出哪条规则偏离目标分布",
    ),
    "lossless.all_exact": (
        "On these two laws every rule keeps the target’s law",
        "在这两个分布上，每条规则都保持目标分布",
    ),
    "lossless.what": (
        "The first token, written {draws} times by each rule. Distance: total variation, half the sum of |share − p|.",
        "每条规则把第一个词元写 {draws} 次。距离用总变差：各词元 |比例 − p| 之和的一半。",
    ),
    "lossless.noise": (
        "Shaded: what fair draws give by chance, {expected} on average (dashed), more than {high} in fewer than 1 of {odds} "
        "tests.",
        "阴影：公平抽样的偶然偏差，平均 {expected}（虚线），超过 {high} 的机会不到 {odds} 次里的 1 次。",
    ),
    "lossless.excess": (
        "{rule} writes {token} {emitted} of the time instead of {target}.",
        "{rule}写出{token}的概率是 {emitted}，而不是 {target}。",
    ),
    "lossless.excess_tied": (
        "{rule} write {token} {emitted} of the time instead of {target}.",
        "{rule}写出{token}的概率都是 {emitted}，而不是 {target}。",
    ),
    "lossless.left": (
        "Here {rules} left the band by chance, as fair draws do in fewer than 1 of {odds} tests; its exact distance is 0.",
        "这次{rules}偶然出了阴影，公平抽样也有不到 {odds} 分之一的机会如此；它的精确距离是 0。",
    ),
    # The picture
    "lossless.rule_plain": ("plain sampling", "普通采样"),
    "lossless.rule_lossless": ("min(1, p/q), lossless", "min(1, p/q)，无损"),
    "lossless.rule_exact": ("exact match, lossless", "完全一致，无损"),
    "lossless.rule_top_k": ("Top-K, lossy", "Top-K，有损"),
    "lossless.rule_typical": ("typical, lossy", "典型接受，有损"),
    "lossless.name_plain": ("plain sampling", "普通采样"),
    "lossless.name_lossless": ("the rule min(1, p/q)", "规则 min(1, p/q)"),
    "lossless.name_exact": ("exact match", "完全一致"),
    "lossless.name_top_k": ("Top-K", "Top-K 规则"),
    "lossless.name_typical": ("typical acceptance", "典型接受"),
    "lossless.band": (
        "shaded: what fair draws give by chance, up to {high}",
        "阴影：公平抽样的偶然偏差，不超过 {high}",
    ),
    "lossless.band_short": ("by chance: up to {high}", "偶然偏差：不超过 {high}"),
    "lossless.key_measured": ("measured", "实测"),
    "lossless.key_exact": ("exact", "精确"),
    "lossless.accepted": ("drafts accepted", "草稿接受率"),
    "lossless.axis": (
        "total variation from the target’s law (the scale is stretched near 0)",
        "与目标分布的总变差（刻度在 0 附近放大）",
    ),
    "lossless.axis_short": ("total variation (stretched near 0)", "总变差（0 附近放大）"),
    "lossless.hover": ("measured {measured}, exact {exact}", "实测 {measured}，精确 {exact}"),
    "lossless.hover_accepted": ("accepts {share} of the drafts", "接受 {share} 的草稿"),
    # Corrections: Top-K verification
    "section.verification": ("Does Top-K verification keep the target’s law?", "Top-K 校验保持目标分布吗？"),
    "section.verification_text": (
        "The notes say: accept a draft that is among the target’s K likeliest tokens; this check guarantees that the law of "
        "the final text does not stray from the quality of the target’s own output.\n"
        "Right: it does stray. A token among the K is kept as often as the draft says it, not as often as the target wants "
        "it. Lossless is to accept with probability min(1, p/q), else to draw from norm(max(0, p − q)).",
        "讲义说：草稿词元落在目标模型的 Top-K 列表里就接受；“Top-K 校验机制保证了最终生成的文本序列分布不会偏离目标模型原本的输出质量”。\n"
        "正确：会偏离。落在前 K 名里的词元，草稿说多少次就留下多少次，而不是目标模型想要多少次。无损的做法是以概率 min(1, p/q) 接受，"
        "否则从 norm(max(0, p − q)) 里重抽。",
    ),
    "lossless.exhibit": (
        "Top-K with K = {ranks} writes {token} {emitted} of the time; the target wants {target}",
        "K = {ranks} 的 Top-K 写出{token}的概率是 {emitted}；目标模型想要的是 {target}",
    ),
    "lossless.exhibit_text": (
        "Exact, for the first word of the lecture’s table and a draft of it: Top-K is {distance} away from the target (total "
        "variation), the lossless rule 0. Top-K accepts {share} of the drafts. An arrow marks what is not the target’s.",
        "这是精确值，取讲义那张表和它的草稿的第一个词：Top-K 与目标分布的总变差是 {distance}，无损规则是 0。Top-K 接受 {share} 的草稿。"
        "箭头标出与目标分布不同的地方。",
    ),
    "lossless.exhibit_all": (
        "Every draft passes, so what comes out is the draft’s law: the target has no say.",
        "草稿全都通过，写出来的就是草稿模型的分布：目标模型说了不算。",
    ),
    "lossless.bar_target": ("target p", "目标 p"),
    "lossless.bar_lossless": ("lossless writes", "无损规则写出"),
    "lossless.bar_top_k": ("Top-K writes", "Top-K 写出"),
    # Corrections: the draft's length
    "section.length": ("How many tokens should be drafted a round?", "每轮该打多少个草稿？"),
    "section.length_text": (
        "The notes say: the draft lengths N most used in practice are 4 and 8.\n"
        "Right: the best length, here γ, depends on how often a draft is accepted, α, and on what it costs, c: the time of "
        "a pass of the draft ÷ that of the target. Where a check costs as much as one step, the speed-up is "
        "(1 − α^(γ+1)) / ((1 − α)(γc + 1)).",
        "讲义说：草稿长度“实践中最常用的取值为 N = 4 或 8”。\n"
        "正确：最好的长度（这里记作 γ）取决于草稿被接受的比例 α，以及它的代价 c，即草稿模型算一遍与目标模型算一遍的时间之比。"
        "如果检查一遍和普通走一步一样贵，加速比就是 (1 − α^(γ+1)) / ((1 − α)(γc + 1))。",
    ),
    "lossless.alpha": ("Acceptance rate α", "接受率 α"),
    "lossless.cost": ("Draft cost c", "草稿代价 c"),
    "lossless.length_best": (
        "With α = {alpha} and c = {cost}, γ = {best} is best: {speed} times as fast",
        "α = {alpha}、c = {cost} 时，γ = {best} 最好：快到 {speed} 倍",
    ),
    "lossless.length_none": (
        "With α = {alpha} and c = {cost} no drafting pays: plain decoding is fastest",
        "α = {alpha}、c = {cost} 时，打草稿不划算：普通解码最快",
    ),
    "lossless.length_notes": ("{one}, {other}.", "{one}，{other}。"),
    "lossless.length_gives": ("γ = {gamma} gives {speed} ×", "γ = {gamma} 得到 {speed} 倍"),
    "lossless.length_past": (
        "Beyond the best length a further draft costs more than it brings.",
        "超过最好的长度，再多一个草稿就得不偿失。",
    ),
    "lossless.length_start": (
        "The sliders begin at what was measured on the page’s recorded run: α = {alpha}, c = {cost}.",
        "滑块一开始停在录好的那次运行的实测值：α = {alpha}，c = {cost}。",
    ),
    "lossless.length_axis": ("γ, drafts a round", "γ：每轮草稿数"),
    "lossless.key_notes": ("notes: {one}, {other}", "讲义：{one}、{other}"),
    "lossless.key_plain": ("plain decoding", "普通解码"),
}
