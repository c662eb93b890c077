"""Words of the sampler laboratory's pictures and their captions: key -> (en, zh)."""

from __future__ import annotations

LAB: dict[str, tuple[str, str]] = {
    # One slow draw
    "lab.play.title": ("{sampler} · step {moment} of {last}", "{sampler} · 第 {moment} 步，共 {last} 步"),
    "lab.play.title_start": ("{sampler} · before the first of {last} steps", "{sampler} · 开始之前，共 {last} 步"),
    "lab.play.title_none": ("{sampler} · no step is needed", "{sampler} · 不需要任何步骤"),
    "lab.sum": ("running sum", "累积和"),
    "lab.direct.head": ("running sum", "累积和"),
    "lab.direct.head_narrow": ("sum", "累积和"),
    "lab.direct.start": (
        "The uniform number is u = {u}. The scan starts at the left and adds up probabilities until their sum passes u.",
        "均匀随机数 u = {u}。从左边开始逐项累加概率，直到累积和超过 u。",
    ),
    "lab.direct.on": (
        "{token} brings the running sum to {sum}, which is not above u = {u}: the scan goes on.",
        "加上{token}，累积和为 {sum}，没有超过 u = {u}：继续。",
    ),
    "lab.direct.zero": (
        "{token} has probability 0: it is looked at, the running sum stays {sum}, and u = {u} is still ahead.",
        "{token}的概率为 0：看了一眼，累积和仍是 {sum}，还没有到 u = {u}。",
    ),
    "lab.direct.drawn": (
        "{token} takes the running sum from {low} to {sum}, past u = {u}: it is drawn.",
        "加上{token}，累积和从 {low} 变为 {sum}，超过 u = {u}：抽中它。",
    ),
    "lab.direct.scanned": (
        "{scanned} of {total} items were looked at; nothing was prepared beforehand.",
        "{total} 项中看了 {scanned} 项；事先不需要任何准备。",
    ),
    "lab.direct.why": (
        "Each item is as long as its probability, so a uniform number hits it just that often.",
        "每一项的长度就是它的概率，均匀随机数落进去的机会正好一样大。",
    ),
    "lab.binary.head": ("running sums, made once", "累积和，只算一次"),
    "lab.binary.start": (
        "The running sums of all {total} items were made once. Which is the first column higher than u = {u}?",
        "{total} 项的累积和事先算好一次。第一个高过 u = {u} 的是哪一列？",
    ),
    "lab.binary.left": (
        "The sum up to {token} is {sum}, above u = {u}: the answer is here or further left, and the right part is dropped.",
        "到{token}为止的累积和是 {sum}，高过 u = {u}：答案在这里或更左边，右边丢掉。",
    ),
    "lab.binary.right": (
        "The sum up to {token} is {sum}, not above u = {u}: the answer is further right, and this part is dropped.",
        "到{token}为止的累积和是 {sum}，没有高过 u = {u}：答案在更右边，这一部分丢掉。",
    ),
    "lab.binary.left_over": ("{count} items are left.", "还剩 {count} 项。"),
    "lab.binary.drawn": (
        "Only {token} is left of {total} items after {probes} probes: it is drawn.",
        "{total} 项经过 {probes} 次比较只剩下{token}：抽中它。",
    ),
    "lab.binary.why": (
        "Each probe halves what is left, so twice as many items cost one probe more.",
        "每次比较都把剩下的减半，所以项数翻倍只多比较一次。",
    ),
    "lab.alias.above": ("above: alias", "上：别名"),
    "lab.alias.own": ("below: own", "下：本列"),
    "lab.alias.start": (
        "The probabilities were packed once into {count} columns of one height, at most two items in each. Two random numbers choose: one a column, one the part.",
        "概率事先装进 {count} 个等高的列，每列最多两项。两个随机数决定结果：一个选列，一个选上下。",
    ),
    "lab.alias.column": (
        "u = {u} times {count} is {scaled}: column {column} of {count}, found by one multiplication.",
        "u = {u} 乘以 {count} 得 {scaled}：第 {column} 列（共 {count} 列），一次乘法就找到。",
    ),
    "lab.alias.coin_above": (
        "The coin, {coin}, lies above the threshold {threshold} of column {column} of {count}: the alias is drawn.",
        "硬币值 {coin} 高于第 {column} 列（共 {count} 列）的阈值 {threshold}：抽别名。",
    ),
    "lab.alias.coin_below": (
        "The coin, {coin}, lies below the threshold {threshold} of column {column} of {count}: its own item is drawn.",
        "硬币值 {coin} 低于第 {column} 列（共 {count} 列）的阈值 {threshold}：抽本列的项。",
    ),
    "lab.alias.drawn": (
        "u = {u} picked column {column} of {count}, and the coin, {coin}, fell on {token} (threshold {threshold}): it is drawn.",
        "u = {u} 选中第 {column} 列（共 {count} 列），硬币值 {coin} 落在{token}上（阈值 {threshold}）：抽中它。",
    ),
    "lab.alias.why": (
        "The parts of an item add up to its probability. A draw takes two look-ups, however many items there are.",
        "一项在各列所占的部分加起来就是它的概率。不论有多少项，抽一次只查两处。",
    ),
    "lab.gumbel.hidden": ("and {count} items with lower scores", "另有 {count} 项，分数更低"),
    "lab.gumbel.never": ("never", "不可能"),
    "lab.gumbel.start": (
        "{count} items wait with their logits, the logarithms of their probabilities. Each will get a noise of its own.",
        "{count} 项各带着自己的 logit，即概率的对数。每一项将得到一份自己的噪声。",
    ),
    "lab.gumbel.step": (
        "{token} draws u = {u}, noise −ln(−ln u) = {noise}; its score is {logit} + {noise} = {score}.",
        "{token}抽到 u = {u}，噪声 −ln(−ln u) = {noise}；分数为 {logit} + {noise} = {score}。",
    ),
    "lab.gumbel.step_below": (
        "{token} draws u = {u}, noise −ln(−ln u) = {noise}; its score is {logit} − {size} = {score}.",
        "{token}抽到 u = {u}，噪声 −ln(−ln u) = {noise}；分数为 {logit} − {size} = {score}。",
    ),
    "lab.gumbel.zero": (
        "{token} has probability 0, its logit is minus infinity, and no noise can help it.",
        "{token}的概率为 0，logit 是负无穷，多大的噪声都没有用。",
    ),
    "lab.gumbel.leads": ("{token} leads with {score}.", "{token}领先，分数 {score}。"),
    "lab.gumbel.behind": ("{token} still leads with {score}.", "{token}仍然领先，分数 {score}。"),
    "lab.gumbel.drawn": (
        "All have their score; {token} has the highest, {score}: it is drawn.",
        "分数都有了，{token}最高，为 {score}：抽中它。",
    ),
    "lab.gumbel.else": ("Without noise {best} would have won.", "若不加噪声，胜出的会是{best}。"),
    "lab.gumbel.why": (
        "With fresh Gumbel noise on every logit the highest score is a fair draw, and no softmax is needed.",
        "每次给每个 logit 加上新的 Gumbel 噪声再取最大，就是一次公平的采样，不需要 softmax。",
    ),
    # What a chi-square test says
    "lab.runs.some": ("in {count} of {runs} runs", "每 {runs} 次试验约有 {count} 次"),
    "lab.runs.nearly_all": ("in nearly every run", "几乎每次试验都"),
    "lab.runs.fewer": ("in fewer than 1 of {runs} runs", "每 {runs} 次试验不到 1 次"),
    "lab.fit.fair": (
        "A fair sampler looks at least this far off {runs} (chi-square {statistic}, {degrees} degrees of freedom).",
        "公平的采样器{runs}会偏离这么多或更多（卡方 {statistic}，自由度 {degrees}）。",
    ),
    "lab.fit.doubt": (
        "A fair sampler looks this far off only {runs}, so this is hardly one (chi-square {statistic}, {degrees} degrees of freedom).",
        "公平的采样器{runs}会偏离这么多，所以它恐怕不公平（卡方 {statistic}，自由度 {degrees}）。",
    ),
    "lab.fit.pooled": (
        "{pooled} items came too seldom to test one by one and were counted as one.",
        "有 {pooled} 项出现得太少，合并成一项来检验。",
    ),
    "lab.fit.pooled_orders": (
        "{pooled} orders came too seldom to test one by one and were counted as one.",
        "有 {pooled} 种次序出现得太少，合并成一种来检验。",
    ),
    "lab.fit.impossible": (
        "An item of probability 0 was drawn: no fair sampler ever does that.",
        "抽中了概率为 0 的项：公平的采样器绝不会这样。",
    ),
    "lab.fit.nothing": (
        "There is nothing to test: too few draws, or only one item that can come.",
        "无从检验：抽的次数太少，或只有一项可能出现。",
    ),
    # Many draws
    "lab.tally.title": ("{sampler} · {draws} draws", "{sampler} · 抽 {draws} 次"),
    "lab.tally.drawn": ("▬ drawn", "▬ 抽到"),
    "lab.tally.came": ("came", "次数"),
    "lab.tally.expected": ("expected", "理论次数"),
    "lab.tally.best": (
        "{token} came {count} times in {draws} draws; {expected} are expected.",
        "抽 {draws} 次，{token}出现 {count} 次，理论上是 {expected} 次。",
    ),
    "lab.tally.distance": (
        "Total variation {distance}: this share of the draws would have to move for counts and law to agree.",
        "总变差距离 {distance}：要让次数与分布一致，需要改动这么大比例的结果。",
    ),
    "lab.convergence.title": ("More draws, a smaller distance", "抽得越多，距离越小"),
    "lab.convergence.x": ("draws n", "抽的次数 n"),
    "lab.convergence.y": ("total variation to the exact law", "与理论分布的总变差距离"),
    "lab.convergence.expected": ("expected {constant}/√n", "理论 {constant}/√n"),
    "lab.convergence.hover": ("n = {n}: {distance}", "n = {n}：{distance}"),
    "lab.convergence.one": ("{distance} ({sampler})", "{distance}（{sampler}）"),
    "lab.convergence.now": (
        "After {n} draws the distances are {ends}; {expected} is expected of a fair sampler.",
        "抽 {n} 次之后，距离分别为 {ends}；公平的采样器理论上是 {expected}。",
    ),
    "lab.convergence.same": (
        "{samplers} turn the same uniform numbers into the same items, so their lines are one.",
        "{samplers}用同样的随机数抽出同样的项，所以它们的线重合。",
    ),
    "lab.convergence.why": (
        "A hundred times as many draws bring a tenth of the distance, whatever the algorithm: they differ in cost, not in accuracy.",
        "次数增加到一百倍，距离缩小到十分之一，哪种算法都一样：它们的差别在代价，不在准确。",
    ),
    # The alias table being built
    "lab.build.title": ("Building the alias table · step {move} of {last}", "建别名表 · 第 {move} 步，共 {last} 步"),
    "lab.build.title_start": (
        "Building the alias table · before the first of {last} steps",
        "建别名表 · 开始之前，共 {last} 步",
    ),
    "lab.build.before": ("dotted: the height of one full column", "虚线：一个满列的高度"),
    "lab.build.after": ("every column is full", "每一列都满了"),
    "lab.build.gives": ("{donor} gives {amount} to {needy}", "{donor} 给 {needy} {amount}"),
    "lab.build.small": ("too little, below 1", "不足 1"),
    "lab.build.large": ("enough, 1 or more", "1 或更多"),
    "lab.build.empty": ("–", "–"),
    "lab.build.left": ("{mass} of a column left", "还有 {mass} 列"),
    "lab.build.start": (
        "Each of {k} probabilities is multiplied by {k}, so that the mean is 1: {small} items have too little for a column, {large} have enough.",
        "{k} 个概率都乘以 {k}，平均值便是 1：{small} 项不足一列，{large} 项足够一列。",
    ),
    "lab.build.start_why": (
        "Two stacks hold them; nothing is sorted.",
        "它们放在两个栈里，不需要排序。",
    ),
    "lab.build.move": (
        "{needy} fills its column only up to {threshold}; {donor} gives the {taken} that it lacks, and the column is closed.",
        "{needy}只能把自己的列填到 {threshold}；{donor}补上缺的 {taken}，这一列就封好了。",
    ),
    "lab.build.shrank": (
        "{donor} has {left} left, less than a column, and moves to the other stack.",
        "{donor}还剩 {left}，不足一列，移到另一个栈。",
    ),
    "lab.build.stays": (
        "{donor} has {left} left, still enough, and stays where it is.",
        "{donor}还剩 {left}，仍然足够，留在原处。",
    ),
    "lab.build.even": (
        "{donor} has just one column left: its own.",
        "{donor}正好还剩一列，就是它自己的列。",
    ),
    "lab.build.leftover": (
        "{names}, with just one column left, fill their own.",
        "剩下的{names}正好一列，填满自己的列。",
    ),
    "lab.build.leftover_one": (
        "{names}, with just one column left, fills its own.",
        "剩下的{names}正好一列，填满自己的列。",
    ),
    "lab.build.end": ("The table took {moves} moves.", "建这张表用了 {moves} 步。"),
    "lab.build.end_why": (
        "Each move closes a column for good, so k items need fewer than k moves: O(k), and no sorting.",
        "每一步都封好一列，所以 k 项不到 k 步就能建成：O(k)，不需要排序。",
    ),
    # Cost
    "lab.cost.title_ops_draws": ("Operations against the number of draws", "运算次数随 n（抽的次数）的变化"),
    "lab.cost.title_ops_items": ("Operations against the number of items", "运算次数随 k（项数）的变化"),
    "lab.cost.title_time_draws": ("Time against the number of draws", "时间随 n（抽的次数）的变化"),
    "lab.cost.title_time_items": ("Time against the number of items", "时间随 k（项数）的变化"),
    "lab.cost.alias_sorted": ("Alias, sorted first", "别名表，先排序"),
    "lab.cost.x_draws": ("draws n, from k = {k} items", "抽的次数 n（k = {k} 项）"),
    "lab.cost.x_items": ("items k, for n = {n} draws", "项数 k（抽 n = {n} 次）"),
    "lab.cost.operations": ("operations", "运算次数"),
    "lab.cost.seconds": ("time", "时间"),
    "lab.cost.least_operations": ("fewest", "最少"),
    "lab.cost.least_seconds": ("fastest", "最快"),
    "lab.cost.count": ("{count} operations", "{count} 次运算"),
    "lab.cost.end": (
        "{name} is cheapest for {n} draws from {k} items: {cost}.",
        "从 {k} 项中抽 {n} 次，{name}最省：{cost}。",
    ),
    "lab.cost.end_one": (
        "{name} is cheapest for {n} draw from {k} items: {cost}.",
        "从 {k} 项中只抽 {n} 次，{name}最省：{cost}。",
    ),
    "lab.cost.worst": ("There {worst} costs {ratio} times as much.", "这时{worst}的代价是它的 {ratio} 倍。"),
    "lab.cost.why": (
        "A scan needs no preparation but starts again for each draw; running sums and alias table are made once, then each draw is short.",
        "直接扫描不用准备，但每次都从头来；累积和与别名表只做一次，之后每抽一次都很快。",
    ),
    "lab.cost.why_seconds": (
        "Measured in vectorised form: a call costs its microseconds however little it does, so small sizes look alike.",
        "用向量化的代码测得：一次调用无论多小都要若干微秒，所以规模小时差别不大。",
    ),
    "lab.cost.reference": (
        "torch.multinomial, for reference, takes {cost}.",
        "作为参照，torch.multinomial 用 {cost}。",
    ),
    "lab.cost.machine": ("Measured on {machine}.", "测量环境：{machine}。"),
    # Gumbel-max
    "lab.frozen.title": ("Noise must be fresh for each draw", "每抽一次都要用新的噪声"),
    "lab.frozen.fresh": ("✓ fresh noise", "✓ 每次新噪声"),
    "lab.frozen.frozen": ("✕ frozen noise", "✕ 噪声不变"),
    "lab.frozen.always": (
        "With its noise kept, {token} (noise {noise}) won all {draws} draws, though its probability is {prob}.",
        "噪声保持不变，{token}（噪声 {noise}）{draws} 次全部胜出，而它的概率是 {prob}。",
    ),
    "lab.frozen.fair": (
        "With fresh noise it won {share}, and a fair sampler looks at least this far off {runs}.",
        "每次换新噪声，它只占 {share}，而公平的采样器{runs}会偏离这么多或更多。",
    ),
    "lab.frozen.why": (
        "The same logits plus the same noise have the same maximum for ever: the noise is the draw, and it cannot be made once and kept.",
        "同样的 logit 加同样的噪声，最大值永远是同一个：抽中谁就是由噪声决定的，所以不能只生成一份一直用。",
    ),
    "lab.topk.title": ("The {size} highest scores: drawing without replacement", "分数最高的 {size} 个：不放回采样"),
    "lab.topk.orders_more": ("{count} other orders", "其余 {count} 种次序"),
    "lab.topk.best": (
        "{order} came {count} times in {draws} draws, {share}; exactly {prob} are expected.",
        "抽 {draws} 次，{order} 出现 {count} 次，占 {share}；理论值为 {prob}。",
    ),
    "lab.topk.item": (
        "{token}, of probability {prob}, was among the {size} drawn in {share}; exactly {inclusion} are expected.",
        "{token}的概率是 {prob}，它在抽出的 {size} 个之中的比例为 {share}；理论值为 {inclusion}。",
    ),
    "lab.topk.why": (
        "The highest score is one fair draw, the next highest a fair draw from what is left, and so on: one noise, no item twice.",
        "最高分等于公平地抽一次，次高分等于从剩下的项中再抽一次，依此类推：一份噪声，没有重复。",
    ),
    "lab.race.title": ("Gumbel-max is a race", "Gumbel-max 是一场赛跑"),
    "lab.race.one": ("one race: time of arrival", "一场比赛：到达时间"),
    "lab.race.many": ("▬ wins, {draws} races", "▬ {draws} 场的胜者"),
    "lab.race.never": ("never", "不到达"),
    "lab.race.now": (
        "{token} arrived first, after {time}; minus the logarithm of that time is its score, {score}, the highest.",
        "{token}最先到达，用时 {time}；用时的对数取负号就是它的分数 {score}，也就是最高分。",
    ),
    "lab.race.wins": (
        "It was first in {share} of {draws} races; its share of the weights, {weight} of {total}, is {prob}.",
        "{draws} 场比赛中它占第一的比例为 {share}；它在权重中的份额是 {weight}/{total}，即 {prob}。",
    ),
    "lab.race.why": (
        "Each item is a clock that rings after an exponential time, the sooner the larger its weight. The first to ring is item i with probability w_i / W, and W need not be 1: that is why no softmax is needed.",
        "每一项是一只闹钟，响铃时间服从指数分布，权重越大响得越早。第 i 项最先响的概率是 w_i / W，W 不必等于 1：所以不需要 softmax。",
    ),
    "lab.first.title": ("When the first arrives says nothing about who it is", "第一名何时到，与它是谁无关"),
    "lab.first.best_title": ("The highest score is Gumbel noise, shifted", "最高分也是 Gumbel 噪声，只是平移了"),
    "lab.first.time": ("time", "时间"),
    "lab.first.score": ("highest score", "最高分"),
    "lab.first.races": ("▬ {count} races", "▬ {count} 场比赛"),
    "lab.first.exact": ("┃ exact: exponential, rate {rate}", "┃ 理论：指数分布，速率 {rate}"),
    "lab.first.exact_score": ("┃ exact: Gumbel, shifted by {rate}", "┃ 理论：Gumbel，平移 {rate}"),
    "lab.first.mean": ("mean 1/W = {mean}", "平均 1/W = {mean}"),
    "lab.first.mean_score": ("mean {mean}", "平均 {mean}"),
    "lab.first.by_winner": ("mean time of the races each one won", "各项获胜的比赛的平均用时"),
    "lab.first.hover": (
        "{low} to {high}<br>{count} races, {share}<br>exact {exact}",
        "{low} 到 {high}<br>{count} 场，{share}<br>理论值 {exact}",
    ),
    "lab.first.now": (
        "Whoever won, the race lasted {low} to {high} on average; exactly {mean} is expected for each.",
        "不论谁获胜，平均用时都在 {low} 到 {high} 之间；理论上都是 {mean}。",
    ),
    "lab.first.why": (
        "The least of several exponential times is again exponential, with the sum of the rates, W = {total}, and it does not depend on the winner.",
        "若干个指数分布时间的最小值仍是指数分布，速率是各速率之和 W = {total}，而且与谁获胜无关。",
    ),
    "lab.first.best_now": (
        "The highest of all scores has the law of a single Gumbel noise moved by ln W = {shift} (W = {total}).",
        "所有分数中的最大值，分布与一份 Gumbel 噪声相同，只是平移了 ln W = {shift}（W = {total}）。",
    ),
    "lab.first.best_why": (
        "Its score tells nothing about the winner: the maximum and who attains it are independent.",
        "分数的高低与谁获胜无关：最大值与取到它的那一项相互独立。",
    ),
}
