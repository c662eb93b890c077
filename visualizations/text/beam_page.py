"""Words of the page on beam search: its controls, sentences and quiz: key -> (en, zh)."""

from __future__ import annotations

BEAM_PAGE: dict[str, tuple[str, str]] = {
    "beam.nav": ("Beam search", "束搜索"),
    "beam.question": ("Which whole sentence is the most likely?", "哪一整句话最可能？"),
    "beam.sentence": (
        "Choosing the best word each time can lead away from the best sentence. Beam search keeps several sentences "
        "side by side, its beams. At each depth every beam proposes its next words, the best few go on, and the rest "
        "is cut. Here you see every cut and its reason.",
        "每一步都选最好的词，不一定得到最好的句子。束搜索同时保留几句话，每一句叫一束。每一层，各束提出自己的下一个词，最好的几句继续，其余剪掉。每一刀和它的理由，这里都看得见。",
    ),
    # Models and controls
    "model.toy:greedy-trap": ("Toy: greedy loses", "玩具：贪婪会输"),
    "model.toy:beam-trap": ("Toy: two beams lose to three", "玩具：两束输给三束"),
    "model.toy:early-end": ("Toy: one beam ends early", "玩具：有一束提早结束"),
    "model.toy:own": ("Your own table", "自己写一张表"),
    "beam.table": ("Table", "概率表"),
    "beam.table_info": (
        "One line per beginning: the words so far, a colon, the next words with their probabilities. Each line sums "
        "to 1. (start) is the beginning, (else) every other text, (longest) the most words.",
        "每行写一个开头：已有的词、冒号、下一个词和概率。每行的概率加起来是 1。(start) 是开头，(else) 是其他情况，(longest) 是最多几个词。",
    ),
    "beam.beams": ("Beams", "束数"),
    "beam.tokens": ("Depth, at most", "最大深度"),
    "beam.rules": ("Pruning rules", "剪枝规则"),
    "processor.relative_threshold": ("Relative threshold", "相对阈值"),
    "processor.absolute_threshold": ("Absolute threshold, nats", "绝对阈值（纳特）"),
    "processor.relative_local_threshold": ("Relative local threshold", "相对局部阈值"),
    "processor.max_per_parent": ("Most per beam", "每束最多几个"),
    "info.relative_threshold": (
        "Cut a sentence at most this many times as likely as the best one.",
        "一句话的概率不超过最好那句的这么多倍，就剪掉。",
    ),
    "info.absolute_threshold": (
        "Cut a sentence whose log-probability is this far or farther below the best.",
        "一句话的对数概率比最好那句低这么多或更多，就剪掉。",
    ),
    "info.relative_local_threshold": (
        "The same as the first, judged by the new word alone.",
        "和第一条一样，但只看新加的词。",
    ),
    "info.max_per_parent": (
        "Keep at most so many next words of one beam.",
        "同一束最多保留这么多个下一个词。",
    ),
    "beam.ends": ("Length and end", "长度与结束"),
    "beam.penalty": ("Length penalty", "长度惩罚"),
    "beam.penalty_info": (
        "A finished sentence is scored by log-probability ÷ length to this power. Above 0 favours long sentences.",
        "完成的句子按“对数概率 ÷ 长度的这个次方”打分。大于 0 偏向长句。",
    ),
    "beam.early": ("When to stop", "何时停"),
    "beam.early_false": ("when no open beam looks better", "未完成的束看上去都不会更好时"),
    "beam.early_true": ("at once when enough are finished", "完成的够数，立刻停"),
    "beam.early_never": ("only when none can become better", "确定不会更好才停"),
    "beam.chance": ("Chance in the search", "搜索中的随机"),
    "beam.search": ("Kind of search", "搜索方式"),
    "beam.search_beam": ("Beam search", "束搜索"),
    "beam.search_sample": ("Draw candidates, then beam", "先抽候选，再束搜索"),
    "beam.search_stochastic": ("Stochastic beam search", "随机束搜索"),
    "beam.first": ("Tokens drawn before the search", "搜索前先抽几个词元"),
    "beam.first_info": ("Chance opens the sentence, the search completes it.", "随机起头，搜索收尾。"),
    "beam.groups": ("Groups", "组数"),
    "beam.groups_info": (
        "Beams in groups that choose one after another; needs a diversity penalty to matter.",
        "把束分成几组，轮流挑选；配合多样性惩罚才有作用。",
    ),
    "beam.diversity": ("Diversity penalty, nats", "多样性惩罚（纳特）"),
    "beam.diversity_info": (
        "Lowers a word's score for each beam of an earlier group that took it at this depth.",
        "同一层里，前面各组每有一束选了这个词，就给它减这么多分。",
    ),
    "beam.show": ("Show", "显示"),
    "beam.show_kept": ("only the kept", "只看保留的"),
    "beam.show_near": ("and the nearest cut", "加上最接近的被剪者"),
    "beam.show_all": ("all recorded", "全部"),
    "beam.zoom": ("Zoom", "放大"),
    # The moment
    "beam.moment_candidates": ("depth {depth} of {count}: candidates", "第 {depth} 层，共 {count} 层：候选"),
    "beam.moment_verdict": ("depth {depth} of {count}: verdict", "第 {depth} 层，共 {count} 层：裁决"),
    "beam.until": (
        "With these settings a beam goes on here that was not expanded before. Exact up to depth {depth}: press Run "
        "for the rest.",
        "按现在的设置，有一束要继续，但之前没有扩展过它。到第 {depth} 层为止是准确的：其余请按“运行”。",
    ),
    "beam.stale": (
        "These settings need the model: press Run. The picture still shows the run before.",
        "这样的设置要让模型重跑：请按“运行”。图中仍是上一次的结果。",
    ),
    "beam.best_found": (
        "All {count} sentences were counted: none scores higher than “{text}”, score {score}, probability {prob}.",
        "全部 {count} 句都数过了：没有一句比“{text}”得分更高，它得 {score} 分，概率是 {prob}。",
    ),
    "beam.best_lost": (
        "All {count} sentences were counted. The best is “{text}”, score {score}, probability {prob}; with {width} beams the search "
        "missed it.",
        "全部 {count} 句都数过了。最好的是“{text}”，{score} 分，概率 {prob}；只用 {width} 束，搜索错过了它。",
    ),
    # Pseudo-code and comparison
    "beam.pseudo": ("The algorithm, put right", "算法（已更正）"),
    "beam.pseudo_text": (
        "Marked lines are at work at this moment. Those with a + put the notes’ two mistakes right.",
        "标出的是此刻在运行的行。带 + 的两行更正了讲义的两处错误。",
    ),
    "beam.left_out": (
        "{count} more with the word … are left out: it stands for all words the table does not name.",
        "另有 {count} 句带“…”，没有算进来：“…”代表表里没有写出的所有词。",
    ),
    "beam.rest_note": (
        "The word … stands for all words the table does not name, so a text with it is no single sentence.",
        "“…”代表表里没有写出的所有词，带它的文本不是某一句话。",
    ),
    "beam.pseudo_still": (
        "Those with a + put the notes’ two mistakes right.",
        "带 + 的两行更正了讲义的两处错误。",
    ),
    "beam.pseudo_other": (
        "This is plain beam search. The kind chosen here ranks the candidates in another way.",
        "这是普通的束搜索。这里选的方式给候选排名的方法不同。",
    ),
    "beam.compare": ("Compare with other searches", "和别的搜索比一比"),
    "beam.compare_title": ("The same prompt, four searches", "同一个开头，四种搜索"),
    "beam.compare_text": (
        "The log-probability is that of the whole new text, in nats: nearer to 0 is more likely. Finished texts are "
        "ranked by score: log-probability ÷ length to the power of the length penalty, here {penalty}. So a longer text may "
        "win over a likelier short one. A forward is one pass of the model; an expanded beam is one whose next words were "
        "computed.",
        "对数概率是整段新文本的，单位纳特：越接近 0 越可能。完成的文本按得分排名：对数概率 ÷ 长度的 {penalty} 次方（长度惩罚），"
        "所以长的可能胜过更可能的短句。一次前向是模型算一遍；扩展一束，是算出它的下一个词。",
    ),
    "beam.comparing": ("{name}: done", "{name}：完成"),
    "beam.contest_greedy": ("Greedy", "贪婪"),
    "beam.contest_beam": ("Beam search, {width} beams", "束搜索，{width} 束"),
    "beam.contest_rules": ("{width} beams, {rules}", "{width} 束，{rules}"),
    "beam.contest_example": ("{width} beams, for example {rules}", "{width} 束，例如{rules}"),
    "beam.contest_stochastic": ("Stochastic, best of {width}", "随机束搜索，{width} 句中最好的"),
    "beam.column_search": ("Search", "搜索"),
    "beam.column_text": ("Text found", "找到的文本"),
    "beam.column_logprob": ("Log-probability", "对数概率"),
    "beam.column_prob": ("Probability", "概率"),
    "beam.column_score": ("Score", "得分"),
    "beam.column_forwards": ("Forwards", "前向次数"),
    "beam.column_expanded": ("Beams expanded", "扩展的束"),
    "beam.fold": ("{token}: hide or show what follows", "{token}：收起或展开后面的"),
    "beam.about_length_penalty": ("length penalty", "长度惩罚"),
    "beam.about_early_stopping": ("early stopping", "提前停止"),
    "beam.about_sample_first": ("drawn first:", "先抽词元数"),
    "beam.about_num_beam_groups": ("groups:", "组数"),
    # Exhibits on the page of corrections
    "section.pseudo": ("What does the beam pseudo-code lack?", "束搜索的伪代码少了什么？"),
    "section.pseudo_text": (
        "The notes say: take each beam's best words into a queue of width k, depth by depth; a finished sentence stays "
        "in the beam with probability 1 for its end.\n"
        "Right: the new queue must become the beams, or every depth starts from the first. And a finished sentence "
        "leaves the beams: otherwise its copies, with log-probability −∞, fill the queue.",
        "讲义说：逐层把每束最好的词放进容量为 k 的队列；完成的句子留在束里，下一个词一定是结束符。\n"
        "正确：新队列必须赋回给束，否则每一层都从头开始；完成的句子要离开束，否则它那些对数概率为 −∞ 的副本会占满队列。",
    ),
    "section.relative": ("A relative threshold: relative to what?", "相对阈值：相对于什么？"),
    "section.relative_text": (
        "The notes say: drop a sentence when score ≤ r × best score.\n"
        "Right for probabilities. But scores are log-probabilities, which are negative: r × best is then above the best "
        "itself, and the rule drops everything. In log form: score ≤ best + ln r.",
        "讲义说：得分 ≤ r × 最高得分就剪掉。\n"
        "对概率来说是对的。但这里的得分是对数概率，是负数：r × 最高得分反而比最高得分还高，于是全被剪掉。对数形式应是：得分 ≤ 最高得分 + ln r。",
    ),
    "section.absolute": ("An absolute threshold: on which scale?", "绝对阈值：在哪个尺度上？"),
    "section.absolute_text": (
        "The notes say: drop a sentence when score ≤ best score − a.\n"
        "Say which scale. Here scores are log-probabilities, so a is in nats, and a difference of a nats is a ratio of "
        "e⁻ᵃ between probabilities.",
        "讲义说：得分 ≤ 最高得分 − a 就剪掉。\n"
        "要说明尺度。这里的得分是对数概率，所以 a 的单位是纳特；相差 a 纳特，就是概率相差 e⁻ᵃ 倍。",
    ),
    "corrections.rule_right": ("The rule on probabilities", "按概率用这条规则"),
    "corrections.rule_notes": ("The formula on log-probabilities", "把公式直接用在对数概率上"),
    "corrections.ratio": ("Relative threshold r", "相对阈值 r"),
    "corrections.reading": ("Read as", "读作"),
    "corrections.nats": ("Absolute threshold a, nats", "绝对阈值 a（纳特）"),
    "corrections.relative_right": (
        "Every sentence at most {ratio} times as likely as the best of its depth is cut; the best always goes on.",
        "每一层里，概率不超过最好那句 {ratio} 倍的都剪掉；最好的总能继续。",
    ),
    "corrections.relative_wrong": (
        "With r = {ratio} the threshold is above the best log-probability: all are cut, the best with them, and the "
        "search is over at depth 1.",
        "r = {ratio} 时，阈值比最好的对数概率还高：全部剪掉，最好的也不例外，搜索在第 1 层就结束了。",
    ),
    "corrections.verdicts": ("Both readings, depth 1", "两种读法，第 1 层"),
    "corrections.verdicts_text": (
        "On probabilities: p ÷ best against {ratio}. On log-probabilities: ln p against {ratio} × the best, {threshold}.",
        "按概率：p ÷ 最好的，和 {ratio} 比。按对数概率：ln p，和 {ratio} × 最好的（{threshold}）比。",
    ),
    "corrections.verdict_word": ("Word", "词"),
    "corrections.verdict_ratio": ("p ÷ best", "p ÷ 最好的"),
    "corrections.verdict_logprob": ("ln p", "ln p"),
    "corrections.cut": ("✕ cut", "✕ 剪去"),
    "corrections.stays": ("✓ stays", "✓ 保留"),
    "corrections.absolute_title": ("Log-probabilities at depth {depth}", "第 {depth} 层的对数概率"),
    "corrections.absolute_now": (
        "The best has {best} nats. With a = {nats}, all at or below {least} nats are cut: those at most {ratio} times as "
        "likely. What the rule leaves must still be among the two best.",
        "最好的是 {best} 纳特。a = {nats} 时，不高于 {least} 纳特的都剪掉，也就是概率不超过它 {ratio} 倍的。留下的还要排进前两名。",
    ),
    # Quiz
    "quiz.cut": (
        "Depth {depth}: probability so far × that of the new word. {given}. One of them is cut. Which?",
        "第 {depth} 层：已有的概率 × 新词的概率。{given}。其中一个要被剪掉，是哪个？",
    ),
    "quiz.cut_because": (
        "Its product, {prob}, is the smallest: the last that goes on has {threshold}.",
        "它的乘积 {prob} 最小：能继续的最后一个是 {threshold}。",
    ),
    "quiz.survive": (
        "At depth {depth} there are {count} candidates on record; the best has probability {best}. How many survive a "
        "relative threshold of {ratio}?",
        "第 {depth} 层记录了 {count} 个候选，最好的概率是 {best}。相对阈值设为 {ratio}，还剩几个？",
    ),
    "quiz.survive_because": (
        "All at or below {ratio} × {best} = {least} are cut; {count} lie above it.",
        "不高于 {ratio} × {best} = {least} 的都剪掉；高于它的有 {count} 个。",
    ),
    "quiz.greedy": (
        "In one of the toy tables the likeliest first word is “{first}”; “{second}” is less likely. Does the likeliest "
        "sentence begin with “{first}”?",
        "有一张玩具表，第一个词最可能是“{first}”，“{second}”次之。最可能的句子是以“{first}”开头吗？",
    ),
    "quiz.greedy_yes": ("yes", "是"),
    "quiz.greedy_no": ("no", "不是"),
    "quiz.greedy_because": (
        "Greedy writes “{greedy}”, probability {greedy_prob}; two beams find “{beam}”, probability {beam_prob}.",
        "贪婪写出“{greedy}”，概率 {greedy_prob}；两束找到“{beam}”，概率 {beam_prob}。",
    ),
}
