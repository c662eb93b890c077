"""Words of the quiz cards: key -> (en, zh)."""

QUIZ: dict[str, tuple[str, str]] = {
    "quiz.title": ("Predict, then see", "先猜，再看"),
    "quiz.right": ("Right.", "对。"),
    "quiz.wrong": ("Not quite.", "不对。"),
    "quiz.same": ("the same", "不变"),
    "quiz.higher": ("higher", "变高"),
    "quiz.lower": ("lower", "变低"),
    "quiz.grows": ("it grows", "变大"),
    "quiz.stays": ("it stays", "不变"),
    "quiz.shrinks": ("it shrinks", "变小"),
    "quiz.this_run": ("In this run,", "这次运行中，"),
    "quiz.recorded_run": ("In the recorded run,", "在录好的那次运行中，"),
    "quiz.times": (
        "The logit of {first} is {gap} above that of {second}. How many times as likely is it?",
        "{first}的 logit 比{second}高 {gap}。它的概率是后者的几倍？",
    ),
    "quiz.times_because": (
        "Softmax raises e to each logit, so a gap of {gap} is a ratio of e^{gap} = {ratio}.",
        "softmax 对每个 logit 取 e 的幂，所以差 {gap} 就是 e^{gap} = {ratio} 倍。",
    ),
    "quiz.shift": (
        "Logits 3, 2, 1 give the probabilities {probs}. Add 5 to every logit. What happens to the first probability?",
        "logit 3、2、1 对应的概率是 {probs}。给每个 logit 都加 5，第一个概率会怎样？",
    ),
    "quiz.shift_because": (
        "It is still {prob}: softmax sees only the gaps between logits.",
        "仍是 {prob}：softmax 只看 logit 之间的差。",
    ),
    "quiz.merges": (
        "{word} starts as {bytes} bytes. How many merges make it what the model reads?",
        "{word}一开始是 {bytes} 个字节。合并几次，才成为模型读到的样子？",
    ),
    "quiz.merges_because": (
        "Each merge makes one piece of two: from {bytes} bytes to one token takes {merges} merges.",
        "每次合并把两块变一块：从 {bytes} 个字节到一个词元，要合并 {merges} 次。",
    ),
    "quiz.kept": (
        "{where} at step {step}, {now} tokens are kept. Lower top-p to {p}. How many stay?",
        "{where}第 {step} 步保留 {now} 个词元。把 top-p 降到 {p}，还剩几个？",
    ),
    "quiz.kept_because": (
        "{kept}. Before top-p, {token} alone holds {prob}; top-p adds tokens, likeliest first, until they hold {p}.",
        "{kept} 个。在 top-p 之前，{token}自己就占 {prob}；top-p 从最可能的开始加，直到总和达到 {p}。",
    ),
    "quiz.order": (
        "Logits 3, 2, 1; temperature 0.5 and top-p 0.8. Which order keeps fewer tokens?",
        "logit 为 3、2、1；温度 0.5，top-p 0.8。哪种顺序保留的词元更少？",
    ),
    "quiz.order_first": ("temperature first", "温度在前"),
    "quiz.order_last": ("temperature last", "温度在后"),
    "quiz.order_same": ("both the same", "一样多"),
    "quiz.order_because": (
        "Temperature first keeps {first}, last keeps {last}: sharpened first, fewer tokens reach 0.8.",
        "温度在前保留 {first} 个，在后保留 {last} 个：先变尖，更少的词元就能凑到 0.8。",
    ),
    "quiz.uniform": (
        "{where} at step {step}, another random number comes up: u = {u}. Which token is drawn?",
        "{where}第 {step} 步如果随机数是 u = {u}，会抽中哪个词元？",
    ),
    "quiz.uniform_because": (
        "Laid end to end, {token} covers {low} to {high}, and {u} lies in there.",
        "首尾相接排开，{token}占 {low} 到 {high}，{u} 就落在里面。",
    ),
    "quiz.hotter": (
        "Temperature goes from 1 to 2. What happens to the entropy?",
        "温度从 1 升到 2，熵会怎样？",
    ),
    "quiz.hotter_because": (
        "From {one} to {two} bits: a higher temperature flattens the law, so the choice is more open.",
        "从 {one} 到 {two} 比特：温度越高分布越平，选择就越不确定。",
    ),
    "quiz.when": (
        "At temperature {t}, how many tokens does top-p {p} keep?",
        "温度为 {t} 时，top-p {p} 保留多少个词元？",
    ),
    "quiz.when_because": (
        "{kept}. At this temperature it takes that many tokens to hold {p}.",
        "{kept} 个。在这个温度下，要这么多词元才能凑到 {p}。",
    ),
    "quiz.when_zero": (
        "{kept}. Temperature 0 puts all probability on the likeliest token; there is nothing else left to keep.",
        "{kept} 个。温度 0 把全部概率放在最可能的词元上，别的都不剩。",
    ),
    "quiz.comma": ("; ", "；"),
    "quiz.cheapest": (
        "Draws: {draws}. Items: {items}, most likely first. Which sampler does the least work, building included?",
        "从 {items} 个从大到小排好的项里抽 {draws} 次，算上准备工作，哪种方法的运算次数最少？",
    ),
    "quiz.cheapest_because": ("Operations, counted: {counts}.", "数出来的运算次数：{counts}。"),
    "quiz.frozen": (
        "Gumbel noise is made once and kept. Out of 1,000 draws from 6 equally likely items, how many different ones come?",
        "Gumbel 噪声只生成一次，以后一直用。6 个等可能的项抽 1,000 次，会出现几个不同的项？",
    ),
    "quiz.frozen_because": (
        "Only {frozen}: with the same logits and the same noise the same item wins every time. Fresh noise gives {fresh}.",
        "只有 {frozen} 个：logit 和噪声都不变，赢的总是同一个。每次用新噪声则出现 {fresh} 个。",
    ),
}
