"""Words of the pages around the figures: key -> (en, zh)."""

PAGES: dict[str, tuple[str, str]] = {
    # Header
    "header.pages": ("Pages", "页面"),
    "header.theme": ("Light or dark", "切换明暗"),
    "next_token.nav": ("Next token", "下一个词元"),
    "sampling.nav": ("Sampling", "采样"),
    "effects.nav": ("Temperature & top-p", "温度与 top-p"),
    # Headlines
    "next_token.question": ("What does the model say before a word is chosen?", "在选词之前，模型说了什么？"),
    "next_token.sentence": (
        "The model reads your text as tokens, pieces of words, and gives every token it knows a score, its logit. "
        "Softmax turns the scores into probabilities.",
        "模型把文字切成词元（词或词的一部分）来读，再给词表里的每个词元打一个分，叫做 logit。softmax 把分数变成概率。",
    ),
    "sampling.question": ("Which word comes next, and who decides?", "下一个词是谁决定的？"),
    "sampling.sentence": (
        "The model gives every token a probability. Temperature reshapes them, top-p cuts the tail, then one random "
        "number picks.",
        "模型给每个词元一个概率。温度改变概率的形状，top-p 切掉长尾，最后由一个随机数选定。",
    ),
    "effects.question": ("What do temperature and top-p do to one choice?", "温度和 top-p 怎样改变一次选择？"),
    "effects.sentence": (
        "Temperature above 1 flattens the probabilities, below 1 sharpens them. Top-p keeps the likeliest tokens "
        "until together they hold p. The model does not run again.",
        "温度大于 1，概率变平；小于 1，概率变尖。top-p 从最可能的词元开始保留，直到它们的概率之和达到 p。模型不必再运行。",
    ),
    # Controls
    "controls.prompt": ("Prompt", "提示词"),
    "controls.template": ("How the model reads it", "模型怎样读它"),
    "controls.raw": ("Raw: goes on writing", "原文：接着写"),
    "controls.chat": ("Chat: answers", "对话：作答"),
    "controls.model": ("Model", "模型"),
    "controls.model_info": ("int4 is quicker and a little less exact.", "int4 更快，但略欠精确。"),
    "controls.run": ("Run", "运行"),
    "controls.stop": ("Stop", "停止"),
    "controls.changed": ("Settings changed: press Run.", "设置已改动：请按“运行”。"),
    "controls.jump": ("To the prompt and the controls ↓", "前往提示词和设置 ↓"),
    "controls.more": ("More rules", "更多规则"),
    "controls.order": ("Order of the rules", "规则的顺序"),
    "controls.sampler": ("Sampler", "采样方法"),
    "controls.new_tokens": ("New tokens, at most", "最多生成的词元数"),
    "controls.seed": ("Seed", "随机种子"),
    "controls.off_at": ("{name} ({value} is off)", "{name}（{value} 为关）"),
    "model.smollm2": ("SmolLM2 135M Instruct", "SmolLM2 135M Instruct"),
    "model.smollm2@int4": ("SmolLM2 135M Instruct, int4", "SmolLM2 135M Instruct，int4"),
    "model.smollm2@torch": ("SmolLM2 135M Instruct, PyTorch", "SmolLM2 135M Instruct，PyTorch"),
    "model.toy:lecture": ("Toy: the lecture's table", "玩具模型：讲义里的表"),
    "order.help": (
        "Applied from the top down. Only rules that are on do anything.",
        "从上到下依次应用，只有打开的规则起作用。",
    ),
    "order.up": ("Move {name} up", "把{name}上移"),
    "order.down": ("Move {name} down", "把{name}下移"),
    # Names
    "info.min_p": (
        "Cuts every token less likely than this share of the likeliest one.",
        "去掉概率低于最高概率乘以这个数的词元。",
    ),
    "info.typical_p": (
        "Keeps the tokens that are about as surprising as the average one, until they hold this share.",
        "保留意外程度最接近平均值（熵）的词元，直到它们的概率之和达到这个数。",
    ),
    "info.epsilon_cutoff": ("Cuts every token with a probability below this.", "去掉概率低于这个数的词元。"),
    "info.eta_cutoff": (
        "Like epsilon, but the more open the choice, the lower the limit.",
        "与 epsilon 截断相似，但选择越不确定，界限越低。",
    ),
    "info.repetition_penalty": (
        "Above 1, every token already in the text, prompt included, becomes less likely.",
        "大于 1 时，文本（含提示词）里出现过的词元概率变小。",
    ),
    "info.presence_penalty": (
        "Taken off the logit of every token already in the text, prompt included, however often it came.",
        "文本（含提示词）里出现过的词元，不论几次，logit 都减去这个数。",
    ),
    "info.frequency_penalty": (
        "Taken off a token’s logit once for each time it came in the text, prompt included.",
        "词元在文本（含提示词）里每出现一次，logit 就减去一次这个数。",
    ),
    "info.no_repeat_ngram_size": (
        "No run of this many tokens comes twice, prompt included.",
        "任何连续这么多个词元的组合（含提示词）都不会出现第二次。",
    ),
    "processor.temperature": ("Temperature", "温度"),
    "processor.top_k": ("Top-k", "Top-k"),
    "processor.top_p": ("Top-p", "Top-p"),
    "processor.min_p": ("Min-p", "Min-p"),
    "processor.typical_p": ("Typical-p", "Typical-p"),
    "processor.epsilon_cutoff": ("Epsilon cutoff", "Epsilon 截断"),
    "processor.eta_cutoff": ("Eta cutoff", "Eta 截断"),
    "processor.repetition_penalty": ("Repetition penalty", "重复惩罚"),
    "processor.presence_penalty": ("Presence penalty", "出现惩罚"),
    "processor.frequency_penalty": ("Frequency penalty", "频率惩罚"),
    "processor.no_repeat_ngram_size": ("No repeated n-gram of size", "不重复的 n 元组长度"),
    "sampler.direct": ("Direct scan", "直接扫描"),
    "sampler.binary": ("Binary search", "二分查找"),
    "sampler.alias": ("Alias table", "别名表"),
    "sampler.gumbel": ("Gumbel-max", "Gumbel-max"),
    "sampler.argmax": ("Greedy (argmax)", "贪婪（argmax）"),
    # Viewer
    "viewer.step": ("step {step} of {count}", "第 {step} 步，共 {count} 步"),
    "viewer.no_step": ("no step yet", "还没有步骤"),
    "viewer.previous": ("Previous step", "上一步"),
    "viewer.next": ("Next step", "下一步"),
    "viewer.play": ("Play the steps", "播放"),
    "viewer.pause": ("Pause", "暂停"),
    "viewer.position": ("Step", "步骤"),
    "viewer.tokens": ("Generated tokens", "生成的词元"),
    "viewer.chips": ("Tokens of the prompt", "提示词的词元"),
    "viewer.tokens_help": (
        "␣ is a space. The stronger the blue, the more probable the token. Choose a token to see its step; choose a bar "
        "below to go on from that token instead.",
        "␣ 是空格。蓝色越深，概率越大。点词元，看它那一步；点下面的条，就改用那个词元往下走。",
    ),
    "viewer.chips_help": (
        "Each token with its id in the vocabulary and its bytes; ␣ is a space. Choose one to see how it was merged. "
        "Choose a bar below to write that token.",
        "每个词元下面是它在词表里的编号和字节；␣ 是空格。点一个，看它怎样合并而来。点下面的条，就把那个词元写上去。",
    ),
    "viewer.joined": ("Text", "文本"),
    "viewer.branches": ("Branches", "分支"),
    "viewer.first_run": ("first run", "最初一次运行"),
    "viewer.branch": ("step {step}: {token}", "第 {step} 步：{token}"),
    "viewer.top": ("Tokens listed", "列出的词元数"),
    "viewer.before": ("Text so far", "到这一步为止的文本"),
    "viewer.back": ("Back to this step of the run", "回到这次运行的这一步"),
    "viewer.exact": ("Back to the exact bars", "回到理论分布"),
    "viewer.draw": ("Draw 1,000", "抽 1,000 次"),
    "viewer.save": ("Save as JSON", "存为 JSON"),
    "viewer.code": ("Show the code", "看代码"),
    "viewer.effects_link": ("Temperature and top-p at this step", "看这一步的温度与 top-p"),
    "viewer.loading": ("Loading {model} …", "正在载入 {model}……"),
    "viewer.converting": ("Unpacking {model}, this once …", "首次使用，正在解包 {model}……"),
    "viewer.building": ("Preparing {model} for this computer, this once …", "首次使用，正在为这台计算机准备 {model}……"),
    "viewer.waiting": ("Waiting for the model …", "正在等待模型……"),
    "viewer.ahead": ("Waiting: {count} runs before yours", "排队中：前面还有 {count} 次运行"),
    "viewer.lost": (
        "The server did not answer. It may have been restarted: reload the page.",
        "服务器没有回应，可能已重启：请刷新页面。",
    ),
    "viewer.token": (
        "step {step}: {token}, probability {prob}; the model alone gave it {model_prob}",
        "第 {step} 步：{token}，概率 {prob}；模型原本给它 {model_prob}",
    ),
    "viewer.row": ("{token}, {prob}. Choose it.", "{token}，{prob}。选它。"),
    "viewer.row_cut": (
        "{token}, cut by {rule}, {prob} before. Choose it.",
        "{token}，被 {rule} 去掉，之前为 {prob}。选它。",
    ),
    "finish.eos": ("ended by the model", "模型自己结束"),
    "finish.length": ("ended by the length limit", "达到长度上限"),
    "finish.cancelled": ("stopped", "已停止"),
    "error.unexpected": (
        "Something went wrong on our side; nothing you did is lost. Try again, or reload the page.",
        "我们这边出了错，你的内容没有丢。请再试一次，或刷新页面。",
    ),
    # Next token
    "next_token.chip": (
        "{token}: id {id}, bytes {bytes}. Show how it was merged.",
        "{token}：编号 {id}，字节 {bytes}。看它怎样合并而来。",
    ),
    "next_token.word": ("How “{word}” became tokens", "“{word}”怎样变成词元"),
    "next_token.merges_text": (
        "Byte-pair encoding starts from single bytes. Of all neighbours it joins the pair learned earliest, again "
        "and again, until no pair of its list is left.",
        "字节对编码从单个字节开始，每次在相邻的两块里挑最早学到的那一对合并，直到没有可合并的为止。",
    ),
    "next_token.one_piece": (
        "It is in the vocabulary as it stands: there was nothing to merge.",
        "它本身就在词表里，不需要合并。",
    ),
    "next_token.long_word": (
        "This word has {bytes} bytes; merges are shown for words of up to {limit}. These are the tokens it became.",
        "这个词有 {bytes} 个字节，只显示不超过 {limit} 个字节的词的合并过程。它最后成为这些词元。",
    ),
    "next_token.tokens": ("{count} tokens", "{count} 个词元"),
    "next_token.start": ("bytes", "字节"),
    "next_token.merge": ("merge no. {rank}", "第 {rank} 号合并"),
    "next_token.cannot_write": (
        "This token cannot be written after the prompt (it is half a character, or the prompt is a chat): choose "
        "another.",
        "这个词元不能接在提示词后面（它只是半个字符，或提示词是对话形式）：请选另一个。",
    ),
    # Effects
    "effects.temperature": ("Temperature T", "温度 T"),
    "effects.top_p": ("Top-p", "Top-p"),
    # Samplers
    "samplers.nav": ("Samplers", "采样方法"),
    "samplers.question": ("Four ways to draw from the same law", "同一个分布，四种抽法"),
    "samplers.sentence": (
        "All four give every item its exact share; they differ in the work. For one draw from a distribution, scan. For "
        "many from the same one, prepare once: running sums or an alias table. Count it below.",
        "四种方法都让每一项按自己的概率出现，区别在于工作量。一个分布只抽一次，就扫描；同一个分布要抽很多次，就先准备一次：累积和或别名表。下面数给你看。",
    ),
    "samplers.law": ("Law to draw from", "从哪个分布抽"),
    "samplers.size": ("Items of a preset", "预设的项数"),
    "samplers.typed": ("Your own law", "自己写一个分布"),
    "samplers.typed_help": (
        "Weights such as a:5 b:3 c:2, or probabilities that sum to 1 such as 0.5 0.3 0.2.",
        "写权重，如 a:5 b:3 c:2；或写总和为 1 的概率，如 0.5 0.3 0.2。",
    ),
    "samplers.show": ("Show", "显示"),
    "samplers.items": ("{count} items", "{count} 项"),
    "samplers.again": ("Draw again", "再抽一次"),
    "samplers.amount": ("Draws", "抽多少次"),
    "samplers.noise": ("Gumbel noise", "Gumbel 噪声"),
    "samplers.fresh": ("fresh", "每次新的"),
    "samplers.frozen": ("frozen", "冻结的"),
    "samplers.state": ("Step", "步骤"),
    "samplers.against": ("Against", "横轴"),
    "samplers.against_k": ("items k", "项数 k"),
    "samplers.against_n": ("draws n", "次数 n"),
    "samplers.what": ("Measured in", "纵轴"),
    "samplers.operations": ("operations", "运算次数"),
    "samplers.seconds": ("seconds", "秒"),
    "samplers.measure": ("Measure on this machine", "在这台机器上测"),
    "samplers.recorded_on": ("Recorded on: {machine}, {threads} thread(s).", "预先测得：{machine}，{threads} 个线程。"),
    "samplers.measured_on": (
        "Measured here: {machine}, {threads} thread(s).",
        "在本机测得：{machine}，{threads} 个线程。",
    ),
    "samplers.measuring": ("Measuring the samplers …", "正在测量各种方法……"),
    "samplers.weight": ("Weight of {name}", "{name} 的权重"),
    "samplers.topk_size": ("Items at once", "一次抽几项"),
    "law.zipf": ("Zipf: 1, 1/2, 1/3, …", "齐普夫：1、1/2、1/3……"),
    "law.uniform": ("Uniform", "均匀"),
    "law.spike": ("One spike", "一项独大"),
    "law.tie": ("Two-way tie", "两项并列"),
    "law.zeros": ("With zeros", "含零"),
    "law.model": ("A step of the model", "模型的一步"),
    "law.typed": ("Your own", "自己写的"),
    "section.slow": ("One draw, slowly", "慢慢抽一次"),
    "section.slow_text": (
        "All four read the same stream of random numbers, and may still pick different items; over many draws their "
        "shares agree. Press play, or step with the arrow keys.",
        "四种方法用同一串随机数，仍可能抽中不同的项；抽得多了，比例就一致。按播放，或用方向键一步步看。",
    ),
    "section.many": ("Many draws at once", "一次抽很多"),
    "section.many_text": (
        "A fair sampler comes near the exact distribution, and nearer with more draws. Freeze the Gumbel noise to see an "
        "unfair one; the chart of distances always uses fresh noise.",
        "公平的方法会接近精确的分布，抽得越多越接近。把 Gumbel 噪声冻结，就能看到不公平的样子；距离图始终用新的噪声。",
    ),
    "section.table": ("The alias table, being built", "别名表是怎样建成的"),
    "section.table_text": (
        "Every column gets the same height. A large item lends what a small one lacks.",
        "每一列一样高。小项不够的，由大项补上。",
    ),
    "section.cost": ("What it costs", "代价是多少"),
    "section.cost_text": (
        "The left end is one draw, the right end many: the best method changes. Operations are counted in the code that "
        "runs. Seconds are measured on code that handles all draws at once, where building an alias table weighs more. "
        "Both axes count in powers of ten.",
        "左端是只抽一次，右端是抽很多次：最省的方法会变。运算次数是在运行的代码里数出来的。秒数是用一次抽完全部次数的代码实测的，那里建别名表更费时。两条轴都按 10 的幂标度。",
    ),
    "section.gumbel": ("Why Gumbel-max works", "Gumbel-max 为什么正确"),
    "section.gumbel_text": (
        "Give each item an exponential clock with its weight as the rate. Who rings first? Move the weights.",
        "给每一项一个指数时钟，权重就是速率。谁先响？拖动权重看看。",
    ),
    "section.frozen": ("Frozen noise", "冻结的噪声"),
    "section.frozen_text": (
        "The notes say: make the Gumbel noise once and keep it.\n"
        "Right: every draw needs fresh noise. With frozen noise the same logits give the same item every time.",
        "讲义说：Gumbel 噪声只生成一次，以后一直用。\n"
        "正确：每抽一次都要用新的噪声。噪声冻结，logit 又不变，每次抽中的就总是同一项。",
    ),
    "section.topk": ("Gumbel-top-k: without replacement", "Gumbel-top-k：不放回采样"),
    "section.topk_text": (
        "Take the highest scores instead of the highest one, and none comes twice.",
        "不只取最高分，而是取最高的几个，就不会重复。",
    ),
    "viewer.more": ("More on the page “{page}”", "详见“{page}”页"),
    "viewer.samplers_link": ("Draw from this step in four ways", "用四种方法抽这一步"),
    # Corrections
    "corrections.nav": ("Corrections", "更正"),
    "corrections.question": ("Where the lecture notes are wrong", "讲义里哪些地方错了"),
    "corrections.sentence": (
        "This app follows the lecture notes “LLM Systems 09: Decoding”. Each exhibit says what they say, what is right, "
        "and shows it.",
        "本应用依据讲义《LLM Systems 09: Decoding》。每一条先写讲义的说法，再写正确的说法，然后用图演示。",
    ),
    "corrections.about": (
        "The first picture uses the recorded step of the page on temperature.",
        "第一幅图用的是“温度与 top-p”页录好的那一步。",
    ),
    "corrections.temperature_now": (
        "At T = 1 the entropy is {one} bits; at T = {t} it is {bits} bits. More bits mean a flatter law.",
        "T = 1 时熵是 {one} 比特；T = {t} 时是 {bits} 比特。比特越多，分布越平。",
    ),
    "section.temperature": ("Does a high temperature sharpen or flatten?", "高温让分布变尖还是变平？"),
    "section.temperature_text": (
        "The notes say: T > 1 sharpens the distribution, T < 1 flattens it.\n"
        "Right: the other way round. Dividing the logits by a large T shrinks their gaps, so the law flattens; T → 0 "
        "is greedy.",
        "讲义说：T > 1 使分布更尖，T < 1 使分布更平。\n"
        "正确：正好相反。logit 除以大的 T，差距变小，分布就变平；T → 0 就是贪婪解码。",
    ),
    "section.alias": ("What does alias sampling cost?", "别名采样的代价是多少？"),
    "section.alias_text": (
        "The notes say: n draws from k items cost O(k log k + n).\n"
        "Right: that is the cost of building the table by sorting. Vose's construction needs no sorting: O(k + n). Both "
        "were counted while the code ran.",
        "讲义说：从 k 项中抽 n 次要 O(k log k + n)。\n"
        "正确：那是先排序再建表的代价。Vose 的建表法不用排序：O(k + n)。两种都在代码运行时数过。",
    ),
}
