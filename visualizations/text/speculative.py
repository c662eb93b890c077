"""Words of the page on speculative decoding, its pictures and its quiz: key -> (en, zh)."""

from __future__ import annotations

SPECULATIVE: dict[str, tuple[str, str]] = {
    "speculative.nav": ("Speculative", "投机解码"),
    "speculative.question": (
        "How can a small model speed up a large one and leave its probabilities as they are?",
        "小模型怎样让大模型变快，却不改变它的概率？",
    ),
    "speculative.sentence": (
        "A cheap draft guesses the next few tokens; the large model, the target, checks all of them in one pass, keeps "
        "what passes its rule, and adds one token of its own.",
        "草稿先便宜地猜出后面几个词元；大模型（目标模型）一遍就全部检查完，留下通过规则的，再自己补一个词元。",
    ),
    # Controls
    "spec.drafter": ("Who drafts", "谁来打草稿"),
    "spec.drafter_trained": ("A small model trained for it", "专门训练的小模型"),
    "spec.drafter_ngram+trained": ("Look-up first, then the trained model", "先查已有文本，查不到再用小模型"),
    "spec.drafter_early": ("The target’s own early layers", "目标模型自己的前几层"),
    "spec.drafter_ngram": ("N-gram look-up in the text", "在已有文本里查 n 元组"),
    "spec.drafter_random": ("Random tokens", "随机词元"),
    "spec.drafter_oracle": ("Oracle: the target itself", "先知：目标模型自己"),
    "model.toy:lecture-draft": ("Toy: a draft of the lecture’s table", "玩具：讲义那张表的草稿"),
    "spec.exit_layer": ("Layers the draft uses", "草稿用前几层"),
    "spec.gamma": ("Drafts a round, γ", "每轮草稿数 γ"),
    "spec.verifier": ("Verifier", "验证规则"),
    "spec.verifier_lossless": ("Lossless: min(1, p/q)", "无损：min(1, p/q)"),
    "spec.verifier_exact": ("Exact match (lossless)", "完全一致（无损）"),
    "spec.verifier_top_k": ("Top-K (lossy)", "Top-K（有损）"),
    "spec.verifier_typical": ("Typical (lossy)", "典型接受（有损）"),
    "spec.verifier_info": (
        "A lossy rule can accept more, but the text no longer follows the target’s law.",
        "有损的规则可以接受得更多，但文本不再服从目标模型的分布。",
    ),
    "spec.verify_top_k": ("K of Top-K", "Top-K 的 K"),
    "spec.loading": ("Making the draft ready …", "正在准备草稿模型……"),
    # Counters
    "spec.count_tau": ("tokens per target pass, τ", "每次目标前向得到的词元数 τ"),
    "spec.count_accepted": (
        "of {drafted} drafts accepted; {judged} were judged",
        "的草稿被接受（共 {drafted} 个，检查过 {judged} 个）",
    ),
    "spec.count_target": ("target passes", "目标模型前向次数"),
    "spec.count_draft": ("draft passes", "草稿模型前向次数"),
    # Timeline
    "spec.moment": ("round {round} of {count}", "第 {round} 轮，共 {count} 轮"),
    "spec.timeline": ("Rounds", "各轮"),
    "spec.round": ("round {round}", "第 {round} 轮"),
    "spec.title": ("{tokens} tokens in {rounds} rounds", "{rounds} 轮，{tokens} 个词元"),
    "spec.title_text": (
        "One row per round, and one pass of the target each. Choose a token for its verdict.",
        "一行一轮，每轮目标模型只算一遍。点一个词元，看对它的裁决。",
    ),
    "spec.lossy": (
        "Lossy: a text written by this rule need not follow the target’s law.",
        "有损：按这条规则写出的文本，不一定服从目标模型的分布。",
    ),
    "spec.note": (
        "{accepted} of {drafted} accepted, {tokens} tokens",
        "接受 {accepted}/{drafted}，得到 {tokens} 个词元",
    ),
    "spec.note_plain": ("nothing drafted, {tokens} tokens", "没有草稿，得到 {tokens} 个词元"),
    "spec.note_eos": ("; the text ends", "；文本结束"),
    "spec.note_length": ("; no room for more", "；已到长度上限"),
    "spec.fate.accepted": ("accepted", "接受"),
    "spec.fate.rejected": ("rejected", "拒绝"),
    "spec.fate.redrawn": ("redrawn", "重抽"),
    "spec.fate.bonus": ("bonus", "附赠"),
    "spec.fate.plain": ("plain step", "普通一步"),
    "spec.fate.unread": ("unchecked", "未检查"),
    "spec.chip_draft": ("Round {round}, draft {draft}", "第 {round} 轮，草稿 {draft}"),
    "spec.chip_target": ("Round {round}, by the target", "第 {round} 轮，目标模型"),
    "spec.chip": ("{where}: {token}, {fate}. Show why.", "{where}：{token}，{fate}。看理由。"),
    # Running text
    "spec.written": ("The draft wrote {share} of this text", "这段文本有 {share} 出自草稿"),
    "spec.written_text": (
        "Each new token marked by who wrote it. Every one of them passed the target.",
        "每个新词元都标出是谁写的，而且都经过目标模型。",
    ),
    "spec.writer.accepted": ("drafted and accepted: {count}", "草稿写、被接受：{count}"),
    "spec.writer.redrawn": ("redrawn by the target: {count}", "目标模型重抽：{count}"),
    "spec.writer.bonus": ("bonus from the target: {count}", "目标模型附赠：{count}"),
    "spec.writer.plain": ("by the target, no draft: {count}", "没有草稿，目标模型写：{count}"),
    # Progress
    "spec.progress": ("{tau} tokens per target pass", "目标模型每算一遍，得到 {tau} 个词元"),
    "spec.progress_text": (
        "Without drafts these {tokens} tokens take {tokens} passes of the target: {saved} more than here.",
        "没有草稿，这 {tokens} 个词元要目标模型算 {tokens} 遍：比这里多 {saved} 遍。",
    ),
    "spec.line_drafts": ("{tokens} with drafts", "有草稿：{tokens}"),
    "spec.line_plain": ("{tokens} without drafts", "没有草稿：{tokens}"),
    "spec.axis_passes": ("passes of the target", "目标模型前向次数"),
    "spec.axis_tokens": ("tokens written", "写出的词元数"),
    "spec.hover_pass": ("after {passes}: {tokens} tokens", "{passes} 次之后：{tokens} 个词元"),
    # Verdict: the picture
    "spec.named_target": ("target p", "目标 p"),
    "spec.named_draft": ("draft q", "草稿 q"),
    "spec.others": ("all others", "其余所有"),
    "spec.hover_pair": ("target p {p}<br>draft q {q}", "目标 p {p}<br>草稿 q {q}"),
    "spec.accept": ("✓ accept", "✓ 接受"),
    "spec.reject": ("✗ reject", "✗ 拒绝"),
    "spec.threshold": ("threshold {value}", "阈值 {value}"),
    "spec.rank": ("rank {rank}", "第 {rank} 名"),
    "spec.ranks": ("ranks 1 to {last}", "前 {last} 名"),
    "spec.ranks_beyond": ("> {last}", "> {last}"),
    "spec.from_residual": ("↺ drawn again from norm(max(0, p − q))", "↺ 从 norm(max(0, p − q)) 里重抽"),
    "spec.from_target": ("drawn from the target’s own law p", "从目标模型自己的分布 p 里抽"),
    # Verdict: sentences
    "spec.why_accepted": ("Why was {token} accepted?", "为什么接受{token}？"),
    "spec.why_rejected": ("Why was {token} rejected?", "为什么拒绝{token}？"),
    "spec.why_added": ("Where does {token} come from?", "{token}是怎么来的？"),
    "spec.why_unread": ("Why was {token} not checked?", "为什么没有检查{token}？"),
    "spec.lossless_odds": (
        "The draft was surer of it ({q}) than the target ({p}).",
        "草稿对它的把握（{q}）比目标模型（{p}）大。",
    ),
    "spec.lossless_rejected": (
        "It is accepted with probability min(1, p/q) = {odds}; the uniform number came up u = {u}, not below it.",
        "接受的概率是 min(1, p/q) = {odds}；均匀随机数是 u = {u}，不比它小。",
    ),
    "spec.lossless_accepted": (
        "It is accepted with probability min(1, p/q) = {odds}; the uniform number came up u = {u}, below it.",
        "接受的概率是 min(1, p/q) = {odds}；均匀随机数是 u = {u}，比它小。",
    ),
    "spec.lossless_always": (
        "The target wants it no less than the draft does: {p}, {q}. Then min(1, p/q) = 1, and it is always accepted.",
        "目标模型对它的把握不比草稿小：{p}，{q}。这时 min(1, p/q) = 1，一定接受。",
    ),
    "spec.lossless_zero": (
        "The draft gave it {q}, but the target, after temperature and filters, p = 0. Then min(1, p/q) = 0: it cannot be "
        "accepted.",
        "草稿给它 {q}，而目标模型经过温度和过滤后给它 p = 0。于是 min(1, p/q) = 0：不可能接受。",
    ),
    "spec.then_residual": (
        "So the target draws again from what it wanted more than the draft, and gets {token}.",
        "于是目标模型从“自己比草稿更想要的部分”里重抽，得到{token}。",
    ),
    "spec.then_own": ("Its own {token} stays.", "于是用它自己的{token}。"),
    "spec.then_target": (
        "So the target draws from its own law, and gets {token}.",
        "于是目标模型从自己的分布里抽，得到{token}。",
    ),
    "spec.exact_accepted": (
        "The target drew a token of its own here, and it is the same. That happens with probability {p}.",
        "目标模型在这里自己抽了一个词元，恰好一样。这样的概率是 {p}。",
    ),
    "spec.exact_rejected": (
        "The target drew a token of its own here, {drawn}, and it is another. The drafted one had {p}.",
        "目标模型在这里自己抽到的是{drawn}，不一样。草稿的那个只有 {p}。",
    ),
    "spec.exact_law": (
        "The rule keeps the target’s law, and accepts no more often than min(1, p/q) would.",
        "这条规则保持目标模型的分布，但接受得不会比 min(1, p/q) 多。",
    ),
    "spec.rank_accepted": (
        "It has rank {rank} in the target’s law ({p}), and the rule accepts ranks up to {most}. How sure the draft was "
        "({q}) plays no part.",
        "目标模型把它排在第 {rank} 名（{p}），规则接受前 {most} 名。草稿有多大把握（{q}）不起作用。",
    ),
    "spec.rank_rejected": (
        "It has rank {rank} in the target’s law ({p}), and the rule accepts ranks up to {most} only. How sure the draft "
        "was ({q}) plays no part.",
        "目标模型把它排在第 {rank} 名（{p}），规则只接受前 {most} 名。草稿有多大把握（{q}）不起作用。",
    ),
    "spec.rank_zero": (
        "The target, after temperature and filters, gives it p = 0, and such a token is never accepted. How sure the draft "
        "was ({q}) plays no part.",
        "目标模型经过温度和过滤后给它 p = 0，这样的词元绝不接受。草稿有多大把握（{q}）不起作用。",
    ),
    "spec.typical_accepted": (
        "The target gives it p = {p}; here the rule asks for more than {threshold}.",
        "目标模型给它 p = {p}；规则在这里要求大于 {threshold}。",
    ),
    "spec.typical_rejected": (
        "The target gives it p = {p}; here the rule asks for more than {threshold}, and it has not.",
        "目标模型给它 p = {p}；规则在这里要求大于 {threshold}，它不够。",
    ),
    "spec.typical_why": (
        "The threshold falls where the target’s law is open and rises where it is sure.",
        "目标模型越拿不准，阈值越低；越有把握，阈值越高。",
    ),
    "spec.redrawn_residual": (
        "{rejected} was rejected, so the target drew from what it wanted more than the draft: this token has probability {prob} "
        "there, and u = {u} picked it.",
        "{rejected}被拒绝，目标模型就从“自己比草稿更想要的部分”里抽：这个词元在那里的概率是 {prob}，u = {u} 选中了它。",
    ),
    "spec.redrawn_why": (
        "The share that accepting leaves out is filled exactly: together both follow the target’s law.",
        "接受时少给的份额，这里正好补上：两者合起来就是目标模型的分布。",
    ),
    "spec.redrawn_own": (
        "The target had drawn this token itself before it looked at {rejected}: its probability was {prob}, and u = {u} "
        "picked it.",
        "目标模型看{rejected}之前，已经自己抽了这个词元：它在目标模型分布里的概率是 {prob}，u = {u} 选中了它。",
    ),
    "spec.redrawn_target": (
        "{rejected} was rejected, so the target drew from its own law: this token has probability {prob} there, and u = {u} "
        "picked it.",
        "{rejected}被拒绝，目标模型就从自己的分布里抽：这个词元在那里的概率是 {prob}，u = {u} 选中了它。",
    ),
    "spec.bonus": (
        "Drafts accepted: {count} of {count}. The same pass already holds the target’s law after them, so one more token "
        "comes free.",
        "{count} 个草稿全部接受。同一遍计算里已经有了它们之后的分布，所以白得一个词元。",
    ),
    "spec.bonus_draw": (
        "It has probability {prob} in that law, and u = {u} picked it.",
        "它在那个分布里的概率是 {prob}，u = {u} 选中了它。",
    ),
    "spec.plain": (
        "Nothing was drafted in this round, so the target wrote one token, as it would without drafts: it has probability {prob} "
        "in the target’s law, and u = {u} picked it.",
        "这一轮没有草稿，目标模型就像平常那样写一个词元：它在目标模型分布里的概率是 {prob}，u = {u} 选中了它。",
    ),
    "spec.unread_rejected": (
        "It stands after {rejected}, which was rejected. It was drafted for a text that is not written.",
        "它排在{rejected}后面，而{rejected}被拒绝了。它是为一段没有写成的文本打的草稿。",
    ),
    "spec.unread_eos": ("The text ended before it.", "文本在它之前就结束了。"),
    "spec.unread_length": ("The text was full before it.", "到它之前，长度已经用完。"),
    "spec.unread_lost": (
        "The draft had given it {q}; the work on it is lost.",
        "草稿给过它 {q}；花在它身上的计算白费了。",
    ),
    # About
    "spec.about_layers": ("{layers} layers", "前 {layers} 层"),
    # Roadmap
    "road.title": ("How the idea grew", "这个想法怎样发展"),
    "road.text": (
        "In the order of time; the mark says who drafts.",
        "按时间先后；标记说明由谁打草稿。",
    ),
    "road.et_al": ("{name} et al.", "{name} 等"),
    "road.lane.model": ("a smaller model", "另一个小模型"),
    "road.lane.heads": ("heads on the target", "目标模型上的输出头"),
    "road.lane.features": ("a layer on its features", "读其特征的一层"),
    "road.lane.block": ("many tokens at once", "一次多个词元"),
    "road.blockwise": (
        "Extra heads guess the next few tokens; one pass keeps the longest run that greedy decoding would have written.",
        "额外的输出头猜出后面几个词元；再算一遍，留下与贪婪解码一致的最长一段。",
    ),
    "road.leviathan": (
        "Accepting with min(1, p/q), else drawing from norm(max(0, p − q)), keeps the target’s law: the rule of this page.",
        "按 min(1, p/q) 接受，否则从 norm(max(0, p − q)) 里重抽，就保持目标模型的分布：本页的规则。",
    ),
    "road.chen": (
        "The same rule, found independently, on a target of 70 billion parameters.",
        "同时独立提出同一条规则，用在 700 亿参数的目标模型上。",
    ),
    "road.specinfer": (
        "Small models draft a tree of texts; one pass with a tree-shaped mask checks every branch.",
        "小模型打出一棵草稿树；用树形掩码，一遍就检查所有分支。",
    ),
    "road.medusa": (
        "Each added head guesses one place ahead; the guesses make a tree. Typical acceptance, a verifier here, is theirs.",
        "每个新加的头猜一个位置，合成一棵树。本页的“典型接受”就出自这里。",
    ),
    "road.eagle": (
        "One layer continues the target’s features instead of its tokens, and is told which token was drawn.",
        "只用一层，续写目标模型的特征而不是词元，并且知道刚抽中的是哪个词元。",
    ),
    "road.lookahead": (
        "No draft model: the target itself guesses many places in parallel and reuses the n-grams that come up.",
        "不要草稿模型：目标模型自己并行地猜多个位置，并重用其中出现的 n 元组。",
    ),
    "road.mtp": (
        "Trained from the start to predict several tokens at once, the model drafts with its own further heads.",
        "模型从训练起就一次预测几个词元，多出来的头正好用来打草稿。",
    ),
    "road.eagle2": (
        "The draft tree grows where the drafter is sure, so its shape follows the context.",
        "草稿树在有把握的地方生长，形状随上下文而变。",
    ),
    "road.diffusion": (
        "A language model that writes block after block and fills each by diffusion, all its tokens in parallel.",
        "逐块生成的语言模型，每一块用扩散并行填满。",
    ),
    "road.eagle3": (
        "Features of several layers are joined, and the drafter learns on its own drafts: more data keep helping.",
        "融合多层特征，并在自己的草稿上训练：数据越多越好。",
    ),
    "road.dflash": (
        "A small block-diffusion drafter reads the target’s features and writes a whole block in one pass.",
        "小型的块扩散草稿模型读目标模型的特征，一遍写出一整块。",
    ),
    # Quiz
    "quiz.spec_passes": (
        "This text has {tokens} new tokens, written in {rounds} rounds. How many passes of the target would it take without "
        "drafts?",
        "这段文本有 {tokens} 个新词元，用了 {rounds} 轮。如果没有草稿，目标模型要算几遍？",
    ),
    "quiz.spec_passes_because": (
        "One pass a token: {tokens}. With drafts each pass gives {tau} tokens on average.",
        "一个词元一遍：{tokens} 遍。有了草稿，平均每遍得到 {tau} 个词元。",
    ),
    "quiz.spec_needed": (
        "In round {round} the draft gave {token} {q}, and the uniform number came up u = {u}. From which p of the target on "
        "would it be accepted?",
        "第 {round} 轮，草稿给{token} {q}，均匀随机数是 u = {u}。目标模型的 p 要超过多少，它才被接受？",
    ),
    "quiz.spec_needed_because": (
        "u < p/q means p > u × q = {u} × {q} = {needed}. The target gave it {p}.",
        "u < p/q 就是 p > u × q = {u} × {q} = {needed}。目标模型给它的是 {p}。",
    ),
    "quiz.spec_identical": (
        "Suppose the draft were the target itself (the oracle). Which share of the drafts would the lossless rule accept?",
        "假如草稿模型就是目标模型自己（先知），无损规则会接受多少草稿？",
    ),
    "quiz.spec_identical_because": (
        "Then p = q for every token, so min(1, p/q) = 1: {accepted} of {judged}, counted on the lecture’s table.",
        "这时每个词元都有 p = q，min(1, p/q) = 1：在讲义的表上数，{judged} 个草稿接受了 {accepted} 个。",
    ),
}
