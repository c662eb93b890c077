"""Words of the panel that tells what one step costs: key -> (en, zh)."""

from __future__ import annotations

STEP_COST: dict[str, tuple[str, str]] = {
    "cost.title": ("What one step costs", "走一步的代价"),
    "cost.answer": (
        "What one step costs: {one} ms for 1 token, {many} ms for {count} at once",
        "走一步的代价：1 个词元 {one} 毫秒，{count} 个一起 {many} 毫秒",
    ),
    "cost.takes": (
        "A step is one pass of the model; T(n) is its time over n new tokens.",
        "走一步，就是让模型算一遍；T(n) 是一遍读 n 个新词元所用的时间。",
    ),
    "cost.reading": (
        "T({count}) is {ratio} times T(1), not {count} times: most of the time goes into reading the weights, {weights}, "
        "and one reading serves all {count}.",
        "T({count}) 是 T(1) 的 {ratio} 倍，而不是 {count} 倍：时间大多花在读权重（{weights}）上，而读一遍就够 {count} 个词元用。",
    ),
    "cost.shared": (
        "T({count}) is {ratio} times T(1), not {count} times: much of a pass is done once for all {count}, such as "
        "starting each operation and reading the weights, {weights}.",
        "T({count}) 是 T(1) 的 {ratio} 倍，而不是 {count} 倍：许多事每遍只做一次，{count} 个词元共用，比如启动各个运算、读权重（{weights}）。",
    ),
    "cost.both": (
        "T({count}) is {ratio} times T(1): one reading of the weights, {weights}, serves all {count}, but their "
        "arithmetic takes time of its own.",
        "T({count}) 是 T(1) 的 {ratio} 倍：读一遍权重（{weights}）就够 {count} 个词元用，但它们的运算也要占时间。",
    ),
    "cost.arithmetic": (
        "T({count}) is {ratio} times T(1): most of the time goes into arithmetic, so that one reading of the weights, "
        "{weights}, for all {count} saves little.",
        "T({count}) 是 T(1) 的 {ratio} 倍：时间大多花在运算上，所以 {count} 个词元共读一遍权重（{weights}）省不了多少。",
    ),
    "cost.floor_text": (
        "The machine reads at most {bandwidth} GB/s from memory, so no pass is quicker than {floor} ms, the dashed "
        "floor.",
        "机器每秒最多从内存读 {bandwidth} GB，所以算一遍至少要 {floor} 毫秒，即虚线所示的下限。",
    ),
    "cost.floor_itself": (
        "It reads them at {bandwidth} GB/s, and the machine reads nothing more quickly from memory: that is the dashed "
        "floor, {floor} ms.",
        "读取速度是每秒 {bandwidth} GB，这台机器从内存读取没有更快的，这就是虚线所示的下限，{floor} 毫秒。",
    ),
    "cost.slope": (
        "From about {ridge} tokens on, arithmetic takes most of the time: each further token adds {slope} ms.",
        "大约从 {ridge} 个词元起，时间大多花在运算上：每多一个词元，再加 {slope} 毫秒。",
    ),
    "cost.slope_at_once": (
        "From the first token on, arithmetic takes most of the time: each further token adds {slope} ms.",
        "从第一个词元起，时间就大多花在运算上：每多一个词元，再加 {slope} 毫秒。",
    ),
    "cost.flat": (
        "Up to {last} tokens, arithmetic takes less than half of the time.",
        "直到 {last} 个词元，运算所占的时间都不到一半。",
    ),
    "cost.recorded": (
        "Recorded on: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; after {context} tokens of text.",
        "预先测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；前文 {context} 个词元。",
    ),
    "cost.measured": (
        "Measured here: {machine}, {cores} cores; {model}, {dtype}, engine {engine}; after {context} tokens of text.",
        "在本机测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}；前文 {context} 个词元。",
    ),
    "cost.other": (
        "The run on this page is of another model, {model} in {dtype}: press the button to measure that one.",
        "本页这次运行用的是另一个模型（{model}，{dtype}）：按下面的按钮来测它。",
    ),
    "cost.table": (
        "{model} is a table: it has no weights to read, and a step costs one look-up. Run a neural model to see what its "
        "step costs.",
        "{model} 是一张表：没有权重要读，走一步只需查一次表。运行一个神经网络模型，就能看到它走一步的代价。",
    ),
    "cost.measuring": (
        "Timing passes over 1 to {last} tokens, again and again …",
        "正在反复给 1 到 {last} 个词元的计算计时……",
    ),
    "cost.x": (
        "n, new tokens read in one pass: a prompt, or a draft to be checked, has many",
        "n：一遍读入的新词元数（提示词、待检验的草稿都有许多个）",
    ),
    "cost.x_short": ("n, new tokens read in one pass", "n：一遍读入的新词元数"),
    "cost.tick": ("{ms} ms", "{ms} 毫秒"),
    "cost.memory": ("memory-bound: waits for the weights", "受内存限制：等着读权重"),
    "cost.memory_short": ("memory-bound", "受内存限制"),
    "cost.once": ("shared: done once for all tokens of a pass", "共用部分：每遍只做一次"),
    "cost.once_short": ("shared", "共用部分"),
    "cost.compute": ("compute-bound: {slope} ms a token", "受计算限制：每个词元 {slope} 毫秒"),
    "cost.compute_short": ("compute-bound", "受计算限制"),
    "cost.floor": (
        "floor {floor} ms: {weights} at {bandwidth} GB/s",
        "下限 {floor} 毫秒：每秒 {bandwidth} GB 读 {weights}",
    ),
    "cost.floor_short": ("floor {floor} ms", "下限 {floor} 毫秒"),
    "cost.one": ("T(1) = {ms} ms", "T(1) = {ms} 毫秒"),
    "cost.many": ("T({n}) = {ms} ms, {ratio} × T(1)", "T({n}) = {ms} 毫秒，{ratio} × T(1)"),
    "cost.many_short": ("T({n}): {ratio} × T(1)", "T({n})：{ratio} × T(1)"),
    "cost.hover": ("n = {n}: {ms} ms, {ratio} × T(1)", "n = {n}：{ms} 毫秒，{ratio} × T(1)"),
}
