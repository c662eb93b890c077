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
    "controls.run": ("Run", "运行"),
    "controls.stop": ("Stop", "停止"),
    "controls.jump": ("To the prompt and the controls ↓", "去改提示词和设置 ↓"),
    "controls.more": ("More rules", "更多规则"),
    "controls.order": ("Order of the rules", "规则的先后"),
    "controls.sampler": ("Sampler", "采样方法"),
    "controls.new_tokens": ("New tokens, at most", "最多生成的词元数"),
    "controls.seed": ("Seed", "随机种子"),
    "controls.off_at": ("({value} is off)", "（{value} 为关）"),
    "model.smollm2": ("SmolLM2 135M Instruct", "SmolLM2 135M Instruct"),
    "model.toy:lecture": ("Toy: the lecture's table", "玩具：讲义里的表"),
    "order.help": (
        "Applied from the top down. Only rules that are on do anything.",
        "从上到下依次应用，只有打开的规则起作用。",
    ),
    "order.up": ("Move {name} up", "把{name}上移"),
    "order.down": ("Move {name} down", "把{name}下移"),
    # Names
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
    "processor.no_repeat_ngram_size": ("No repeated n-gram of size", "禁止重复的 n 元组，n"),
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
    "viewer.joined": ("Text", "文本"),
    "viewer.branches": ("Branches", "分支"),
    "viewer.first_run": ("first run", "最初的运行"),
    "viewer.branch": ("step {step}: {token}", "第 {step} 步：{token}"),
    "viewer.top": ("Tokens listed", "列出的词元数"),
    "viewer.draw": ("Draw 1,000", "抽取 1,000 次"),
    "viewer.save": ("Save as JSON", "存为 JSON"),
    "viewer.code": ("Show the code", "看代码"),
    "viewer.effects_link": ("Temperature and top-p at this step", "看这一步的温度与 top-p"),
    "viewer.loading": ("Loading {model} …", "正在载入 {model} ……"),
    "viewer.lost": (
        "The server did not answer. It may have been restarted: reload the page.",
        "服务器没有回应，可能已重启：请刷新页面。",
    ),
    "viewer.token": (
        "step {step}: {token}, probability {prob}; the model alone gave it {model_prob}",
        "第 {step} 步：{token}，概率 {prob}；模型原本给它 {model_prob}",
    ),
    "viewer.row": ("{token}, {prob}. Choose it.", "{token}，{prob}。选它。"),
    "finish.eos": ("ended by the model", "模型自己结束"),
    "finish.length": ("ended by the length limit", "到长度上限为止"),
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
        "字节对编码从单个字节开始，每次把相邻字节对中最早学到的那一对合并，直到没有可合并的为止。",
    ),
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
}
