"""Words of the race between plain decoding and speculation: key -> (en, zh)."""

from __future__ import annotations

RACE: dict[str, tuple[str, str]] = {
    # Counters
    "race.count_measured": ("plain speed, by the clock", "普通解码的速度（实测）"),
    "race.count_predicted": ("cost model, passes alone", "代价模型（只算前向）"),
    "race.count_measured_whole": ("plain speed, by the clock, whole run", "普通解码的速度（实测，整次运行）"),
    "race.count_predicted_whole": ("cost model, passes alone, whole run", "代价模型（只算前向，整次运行）"),
    "race.times": ("{ratio} ×", "{ratio} ×"),
    # Panel
    "race.title": ("Who is first by the clock?", "按时钟算，谁先写完？"),
    "race.faster": (
        "{ratio} times as fast with drafts as without, by the clock",
        "有草稿比没有草稿快：实测是 {ratio} 倍的速度",
    ),
    "race.slower": (
        "Drafts did not pay here: {ratio} times the speed of plain decoding, by the clock",
        "这里打草稿不划算：实测只有普通解码 {ratio} 倍的速度",
    ),
    "race.equal": ("As fast with drafts as without, by the clock", "有没有草稿一样快（实测）"),
    "race.close": (
        "About as fast with drafts as without: {ratio} times, by the clock",
        "有没有草稿差不多快：实测是 {ratio} 倍",
    ),
    "race.button": ("Race them three times", "再比三次"),
    "race.idle": (
        "{model} is a table: a pass is one look-up, so there is no time worth racing for. Run a neural model to see two "
        "clocks.",
        "{model} 是一张表：算一遍只是查一次表，没有时间可比。运行一个神经网络模型，就能看到两只时钟赛跑。",
    ),
    "race.invite": (
        "This run was not raced. The button goes on from its prompt as far as the run came, with drafts and without, "
        "three times each.",
        "这次运行还没有比过。按下按钮，就从提示词写到这次运行停下的地方，用草稿和不用草稿各写三遍。",
    ),
    "race.running_once": (
        "Now the same prompt without drafts, by the clock …",
        "现在同一个提示词不用草稿再写一次，看看时间……",
    ),
    "race.running": ("Racing {repeats} times, in turns …", "轮流比 {repeats} 次……"),
    # Sentences
    "race.moment": (
        "After round {round}, at {seconds} s: {drafts} tokens with drafts, {plain} without.",
        "第 {round} 轮之后，{seconds} 秒：有草稿写了 {drafts} 个词元，没有草稿写了 {plain} 个。",
    ),
    "race.end": (
        "{tokens} tokens took {drafts} s with drafts and {plain} s without.",
        "{tokens} 个词元，有草稿用了 {drafts} 秒，没有草稿用了 {plain} 秒。",
    ),
    "race.predicted": (
        "The cost model counts only passes after the prompt: {tokens} tokens a round for {cost} plain steps ({drafts} drafts "
        "at c = {c}, a check at {check}) give {ratio} times.",
        "代价模型只算提示词之后的前向：一轮 {tokens} 个词元，花 {cost} 个普通步（{drafts} 个草稿，每个 c = {c}；"
        "一次检查 {check}），得 {ratio} 倍。",
    ),
    "race.predicted_alone": (
        "The cost model counts only passes after the prompt: {tokens} tokens a round for {cost} plain steps (the check; no "
        "model drafts) give {ratio} times.",
        "代价模型只算提示词之后的前向：一轮 {tokens} 个词元，花 {cost} 个普通步（全是检查，打草稿不用模型），得 {ratio} 倍。",
    ),
    "race.differ": (
        "The two drew different texts, equally long.",
        "两边抽出的文本不同，但一样长。",
    ),
    "race.same": ("Both wrote the same text.", "两边写出的文本相同。"),
    "race.spread": (
        "Raced {repeats} times: {low} to {high} times as fast; the middle run of each is shown.",
        "比了 {repeats} 次：{low} 到 {high} 倍；两边都画居中的一次。",
    ),
    "race.unsure": ("They do not agree on who is faster.", "几次的胜负并不一致。"),
    "race.once": (
        "One race on this machine; the button runs three.",
        "在这台机器上比了一次；按下按钮比三次。",
    ),
    "race.recorded": (
        "Recorded beforehand ({model}, {dtype}, engine {engine}); the button races here.",
        "预先录下（{model}，{dtype}，引擎 {engine}）；按下按钮就在这里比。",
    ),
    "race.basis": (
        "One prompt, one seed. c: a pass of the draft in plain steps, on average.",
        "一个提示词，一个种子。c：草稿模型一遍平均合多少普通步。",
    ),
    "race.basis_alone": ("One prompt, one seed.", "一个提示词，一个种子。"),
    "race.pace": (
        "The player slows it down {factor} times.",
        "播放时放慢 {factor} 倍。",
    ),
    "race.pace_real": (
        "The player keeps the true speed.",
        "播放时不放慢。",
    ),
    # Picture
    "race.plain": ("plain decoding", "普通解码"),
    "race.drafts": ("with drafts", "有草稿"),
    "race.now": ("at {seconds} s", "第 {seconds} 秒"),
    "race.goes": ("where the time of one token goes", "一个词元的时间花在哪里"),
    "race.tokens": ("{tokens} tokens", "{tokens} 个词元"),
    "race.took": ("{tokens} tokens in {seconds} s", "{seconds} 秒 {tokens} 个词元"),
    "race.seconds": ("{seconds} s", "{seconds} 秒"),
    "race.per_token": ("{ms} ms a token", "每个词元 {ms} 毫秒"),
    "race.part.target": ("target {ms}", "目标 {ms}"),
    "race.part.draft": ("draft {ms}", "草稿 {ms}"),
    "race.part.others": ("rest {ms}", "其余 {ms}"),
    "race.hover": ("{tokens} tokens at {seconds} s", "第 {seconds} 秒：{tokens} 个词元"),
    "race.hover_target": (
        "passes of the target: {ms} ms a token, {share}",
        "目标模型前向：每个词元 {ms} 毫秒，{share}",
    ),
    "race.hover_draft": (
        "passes of the draft: {ms} ms a token, {share}",
        "草稿模型前向：每个词元 {ms} 毫秒，{share}",
    ),
    "race.hover_others": ("all else: {ms} ms a token, {share}", "其余：每个词元 {ms} 毫秒，{share}"),
}
