"""Words of the pictures of beam search and their captions: key -> (en, zh)."""

from __future__ import annotations

BEAM: dict[str, tuple[str, str]] = {
    # Rules: in a label, in a sentence
    "tree.rule.width": ("width", "束宽"),
    "tree.rule.width_long": ("the beam width", "束宽"),
    "tree.rule.relative": ("relative", "相对"),
    "tree.rule.relative_long": ("the relative threshold", "相对阈值"),
    "tree.rule.absolute": ("absolute", "绝对"),
    "tree.rule.absolute_tight": ("abs.", "绝对"),
    "tree.rule.absolute_long": ("the absolute threshold", "绝对阈值"),
    "tree.rule.local": ("local", "局部"),
    "tree.rule.local_long": ("the relative local threshold", "相对局部阈值"),
    "tree.rule.parent": ("per parent", "每束"),
    "tree.rule.parent_long": ("the limit per parent", "每束的上限"),
    "tree.rule.late": ("late end", "名次不够"),
    "tree.rule.late_tight": ("late", "名次"),
    "tree.rule.late_long": ("its rank, too low for an end", "名次：排在束宽之外的结束不算完成"),
    "tree.rule.worse": ("worse end", "不如已有"),
    "tree.rule.worse_tight": ("worse", "不如"),
    "tree.rule.worse_long": ("the finished texts, which score higher", "已完成的文本（它们得分更高）"),
    "tree.rule.notes": ("notes", "讲义"),
    "tree.rule.notes_long": ("the formula of the notes", "讲义的公式"),
    "tree.rule.draw": ("not drawn", "未抽中"),
    "tree.rule.draw_tight": ("draw", "未抽"),
    "tree.rule.draw_long": ("the draw", "抽取"),
    # Labels
    "tree.cut": ("✕ {rule}: {value} {relation} {threshold}", "✕ {rule}：{value} {relation} {threshold}"),
    "tree.cut_plain": ("✕ cut", "✕ 剪去"),
    "tree.end": ("■ end, score {score}", "■ 完成，得分 {score}"),
    "tree.end_short": ("■ score {score}", "■ 得分 {score}"),
    "tree.end_score": ("score {score}", "得分 {score}"),
    "tree.folded": ("▸ {count} folded", "▸ 收起 {count} 个"),
    "tree.lost": ("▴ best text lost here", "▴ 最佳文本在此丢失"),
    "tree.lost_short": ("▴ lost here", "▴ 在此丢失"),
    # Headings
    "tree.depth": ("depth {depth}", "第 {depth} 层"),
    "tree.on": ("{count} go on", "{count} 个继续"),
    "tree.on_one": ("{count} goes on", "{count} 个继续"),
    "tree.ends": ("{count} end", "{count} 个完成"),
    "tree.ends_one": ("{count} ends", "{count} 个完成"),
    "tree.line": ("{rule}: cut below {threshold}", "{rule}：低于 {threshold} 剪去"),
    "tree.line_short": ("cut below {threshold}", "低于 {threshold} 剪"),
    "tree.line_rule": ("✕ {rule} {relation} {threshold}", "✕ {rule} {relation} {threshold}"),
    "tree.open": ("not yet judged", "尚未裁决"),
    "tree.shown": ("{shown} of {total} shown", "画出 {shown} / {total}"),
    "tree.shown_short": ("{shown} of {total}", "{shown} / {total}"),
    # Hover
    "tree.hover.node": (
        "own probability: {own}<br>whole text: {logprob} nats, {prob}<br>rank {rank} of {total} at depth {depth}",
        "本词元的概率：{own}<br>整个文本：{logprob} 纳特，{prob}<br>第 {depth} 层的 {total} 个中排第 {rank}",
    ),
    "tree.hover.score": ("ranked by score {score}", "按得分 {score} 排名"),
    "tree.hover.group": ("group {group}", "第 {group} 组"),
    "tree.hover.kept": ("kept: it goes on", "保留：继续扩展"),
    "tree.hover.finished": (
        "■ finished: its text ends here, score {score}",
        "■ 完成：文本到此结束，得分 {score}",
    ),
    "tree.hover.cut": (
        "✕ cut by {rule}: {value} {relation} {threshold}",
        "✕ 被{rule}剪去：{value} {relation} {threshold}",
    ),
    "tree.hover.cut_nats": (
        "✕ cut by {rule}: {value} {relation} {threshold} nats",
        "✕ 被{rule}剪去：{value} {relation} {threshold} 纳特",
    ),
    "tree.hover.cut_plain": ("✕ cut", "✕ 剪去"),
    "tree.hover.open": ("not yet judged", "尚未裁决"),
    # The queue
    "queue.bars": ("▬ relative to the best", "▬ 与第一名之比"),
    "queue.bars_score": ("▬ e^score, relative to the best", "▬ e^得分，与第一名之比"),
    "queue.others": ("{count} others below", "下面还有 {count} 个"),
    "queue.prob": ("prob.", "概率"),
    "queue.nats": ("nats", "纳特"),
    "queue.score": ("score", "得分"),
    "queue.title": ("Depth {depth} · {count} candidates in order", "第 {depth} 层 · {count} 个候选，按得分排队"),
    "queue.from": ("{beams} beams propose their next tokens.", "{beams} 个束各自提出下一个词元。"),
    "queue.from_one": ("One beam proposes its next tokens.", "一个束提出下一个词元。"),
    "queue.best": (
        "The best is {text}, log-probability {logprob} nats, probability {prob}.",
        "排在最前的是{text}，对数概率 {logprob} 纳特，概率 {prob}。",
    ),
    "queue.open": ("Nothing has been cut yet.", "还没有剪枝。"),
    "queue.judged": ("{left}, {cut} cut.", "{left}，{cut} 个被剪去。"),
    "queue.none": ("{left}; none is cut.", "{left}，没有剪去任何一个。"),
    "queue.perturbed": (
        "The order is that of the score, not of the probability.",
        "排名依据是得分，不是概率。",
    ),
    # The pseudo-code
    "pseudo.start": ("one beam: nothing written, ln 1 = 0", "一个束：还没有写，ln 1 = 0"),
    "pseudo.queue": ("highest score first", "得分高的在前"),
    "pseudo.expand": ("all beams in one forward", "所有束合成一次前向计算"),
    "pseudo.score": ("log-probabilities add up", "对数概率相加"),
    "pseudo.prune": ("the thresholds; the best one stays", "按阈值剪枝，最好的一个总会留下"),
    "pseudo.select": ("best first, rank from 1", "从好到差，名次从 1 起"),
    "pseudo.end": (
        "put right: a finished text leaves the beam; else copies of it at −∞ fill the beam",
        "更正：完成的文本离开束，否则它的 −∞ 副本会占满束",
    ),
    "pseudo.finish": ("set aside with its score, never expanded", "记下得分放到一边，不再扩展"),
    "pseudo.keep": ("the width best go on", "最好的 width 个继续"),
    "pseudo.assign": (
        "put right: without it every depth starts from the first beams",
        "更正：没有这一行，每一层都从最初的束开始",
    ),
    "pseudo.stop": ("the search may end early", "可以提前结束"),
    "pseudo.answer": ("by score per length", "按长度归一的得分选出"),
    # The tree's caption
    "tree.caption.best": ("Best: {text}, probability {prob}", "最佳：{text}，概率 {prob}"),
    "tree.caption.found": ("Best found: {text}, probability {prob}", "找到的最佳：{text}，概率 {prob}"),
    "tree.caption.both": ("{prob} ({logprob} nats)", "{prob}（{logprob} 纳特）"),
    "tree.caption.open": (
        "Depth {depth} · {count} candidates, not yet judged",
        "第 {depth} 层 · {count} 个候选，尚未裁决",
    ),
    "tree.caption.judged": ("Depth {depth} · of {count} candidates {left}", "第 {depth} 层 · {count} 个候选中{left}"),
    "tree.caption.counts": ("{count} candidates considered, {cut} cut.", "共考察 {count} 个候选，剪去 {cut} 个。"),
    "tree.caption.recorded": (
        "The {recorded} that came nearest are recorded.",
        "记录了其中最接近的 {recorded} 个。",
    ),
    "tree.caption.prob": (
        "A line is as wide as its token is probable; the number is the probability of the whole text.",
        "线越粗，词元的概率越大；数字是整个文本的概率。",
    ),
    "tree.caption.nats": (
        "A line is as wide as its token is probable; the number is the log-probability of the whole text, in nats: the nearer to 0, the better.",
        "线越粗，词元的概率越大；数字是整个文本的对数概率（纳特），越接近 0 越好。",
    ),
    "tree.caption.score": (
        "A line is as wide as its token is probable; the number is the score that ranks the text: its log-probability in nats, and noise or a penalty added.",
        "线越粗，词元的概率越大；数字是排名用的得分：整个文本的对数概率（纳特）加上噪声或惩罚。",
    ),
    "tree.caption.cut": (
        "✕ marks a cut and names the rule, the value and the threshold it missed.",
        "✕ 表示剪去，并写出规则、数值和它没有达到的阈值。",
    ),
    "tree.caption.cut_hover": (
        "✕ marks a cut; point at it for the rule, the value and the threshold.",
        "✕ 表示剪去；指向它可以看到规则、数值和阈值。",
    ),
    "tree.caption.end": (
        "■ marks a finished text, with its score, by which finished texts are ranked.",
        "■ 表示完成的文本及其得分，完成的文本按得分排名。",
    ),
    "tree.caption.lost": (
        "The best text of all was lost at depth {depth}: {text} was cut by {rule}, {value} {relation} {threshold}.",
        "真正最佳的文本在第 {depth} 层丢失：{text}被{rule}剪去，{value} {relation} {threshold}。",
    ),
}
