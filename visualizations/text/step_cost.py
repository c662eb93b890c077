"""Words of the panel that tells what one step costs: key -> (en, zh)."""

from __future__ import annotations

STEP_COST: dict[str, tuple[str, str]] = {
    "cost.title": ("What one step costs", "走一步的代价"),
    "cost.reads": (
        "For one new token the model reads all its weights, {weights}. This machine reads at most {bandwidth} GB/s from "
        "memory, so a forward takes at least {floor} ms; T(1) is {one} ms.",
        "每生成一个新词元，模型都要把全部权重（{weights}）读一遍。这台机器每秒最多从内存读 {bandwidth} GB，所以一次前向计算至少要 {floor} 毫秒；实测 T(1) 为 {one} 毫秒。",
    ),
    "cost.five": (
        "{count} tokens at once take {time} ms, {ratio} times T(1):",
        "一次读 {count} 个词元要 {time} 毫秒，是 T(1) 的 {ratio} 倍：",
    ),
    "cost.reading": (
        "reading the weights is what takes time, and one reading serves all {count}.",
        "耗时的是读权重，而读一遍就够 {count} 个词元用。",
    ),
    "cost.both": (
        "one reading serves all {count}, but their arithmetic already takes time of its own.",
        "读一遍权重就够 {count} 个词元用，但运算也开始占时间。",
    ),
    "cost.arithmetic": (
        "here the arithmetic takes the time, so one reading for all {count} saves little.",
        "这里耗时的是运算，所以 {count} 个词元共用一遍读取省不了多少。",
    ),
    "cost.slope": (
        "From about {ridge} tokens on the processor computes longer than it reads: each further token adds {slope} ms.",
        "大约从 {ridge} 个词元起，运算比读取更费时：每多一个词元，再加 {slope} 毫秒。",
    ),
    "cost.flat": (
        "Up to {last} tokens the processor computes no longer than it reads.",
        "直到 {last} 个词元，运算都没有读取费时。",
    ),
    "cost.recorded": (
        "Recorded on: {machine}, {cores} cores; {model}, {dtype}, engine {engine}.",
        "预先测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}。",
    ),
    "cost.measured": (
        "Measured here: {machine}, {cores} cores; {model}, {dtype}, engine {engine}.",
        "在本机测得：{machine}，{cores} 个核；{model}，{dtype}，引擎 {engine}。",
    ),
    "cost.table": (
        "{model} is a table: it has no weights to read, and a step costs one look-up. Run a neural model to see what its "
        "step costs.",
        "{model} 是一张表：没有权重要读，走一步只需查一次表。运行一个神经网络模型，就能看到它走一步的代价。",
    ),
    "cost.measuring": ("Timing forwards of 1 to {last} tokens …", "正在给 1 到 {last} 个词元的前向计算计时……"),
    "cost.x": ("new tokens in one forward, n", "一次前向计算的新词元数 n"),
    "cost.tick": ("{ms} ms", "{ms} 毫秒"),
    "cost.memory": ("memory-bound: waits for the weights", "受内存限制：等着读权重"),
    "cost.memory_short": ("memory-bound", "受内存限制"),
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
