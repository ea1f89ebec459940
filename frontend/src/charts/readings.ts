/** How a chart is read, and where its method is written down. */
interface Reading {
  /** Two to four short sentences: the axes, a good and a bad picture, what is missing. */
  sentences: readonly string[]
  /** The page of docs/ that has the method. */
  page: string
}

/** How to read each chart, by the name of its folder here. */
export const readings = {
  ageHistogram: {
    sentences: [
      'Each bar is memory that was last accessed so many intervals ago; its height is resident bytes, its colour the heat class.',
      'Much memory at the right is cold and a candidate for CXL. Most memory at the left means a large hot set.',
      'Hatched memory was never seen active: it is at least as old as its bar says.',
    ],
    page: 'docs/method/heat.md',
  },
  alertTimeline: {
    sentences: [
      'Time runs to the right; each row is one rule or one subject, the most severe first.',
      'An empty row is good. A long bar is a condition that lasted; many short bars show a rule that flaps.',
      'A bar "no data" means that the rule could not be evaluated. It does not mean that all was well.',
    ],
    page: 'docs/method/alerts.md',
  },
  backtest: {
    sentences: [
      'Time runs to the right. The line is the value that the condition compares, the horizontal lines its thresholds, and the strip below is the state of the rule.',
      'A good rule fires during real trouble and is quiet otherwise. A strip that changes often needs a longer "for" or a wider dead band.',
      'A hatched column is time without data; there the rule keeps, resolves or fires as it is set to.',
    ],
    page: 'docs/method/alerts.md',
  },
  classTime: {
    sentences: [
      'Time runs to the right; each column stacks hot, warm and cold memory of one interval, in bytes.',
      'A stable hot part fits in DRAM of that size. A hot part that grows or jumps needs more headroom.',
      'A hatched or missing column was not collected; it is not zero.',
    ],
    page: 'docs/method/heat.md',
  },
  costBars: {
    sentences: [
      'Each bar is the yearly cost of one host of a scenario; its parts add up to the total.',
      'A lower bar is cheaper. Compare options only with the baseline of the same scenario.',
      'A part without a bar costs nothing in this scenario.',
    ],
    page: 'docs/method/tco.md',
  },
  costWaterfall: {
    sentences: [
      'The first bar is the yearly cost of the baseline, the last that of the option. The bars between are the parts that differ.',
      'A part that goes down saves money, one that goes up costs more.',
      'Parts that are equal in both are left out.',
    ],
    page: 'docs/method/tco.md',
  },
  curve: {
    sentences: [
      'To the right: the DRAM size as a share of memory. Upwards: the share of accesses that DRAM serves.',
      'A curve that rises steeply and then stays flat is good: little DRAM serves nearly all accesses. A straight diagonal means that no part of memory is hotter than the rest.',
      'The band is the spread over hosts. Nothing is drawn where page samples are missing.',
    ],
    page: 'docs/method/curve.md',
  },
  fairShare: {
    sentences: [
      'Time runs to the right. Solid: the share of the top tier that a tenant holds; dashed in its colour: its fair share.',
      'A solid line well above its dashed one, while another is below, means that one holds what another should.',
      'A line that breaks was not collected there; what is fair is chosen above and named in the table.',
    ],
    page: 'docs/method/fairness.md',
  },
  fleetGrid: {
    sentences: [
      "Each tile is a host; its area is the host's memory, its colour what is chosen above: verdict, cold share, pressure or drift from peers.",
      'Tiles in a warning colour need attention. A whole group in one colour has a common cause.',
      'A grey tile has no value: nothing was collected there.',
    ],
    page: 'docs/method/verdicts.md',
  },
  forecast: {
    sentences: [
      'Days run to the right; points are measured days, the line ahead is the forecast with its 80 % and 95 % bands.',
      'The band that reaches the threshold line first says how early memory may run out. A wide band means an uncertain forecast.',
      'Hollow points were left out of the fit; days without a point were not measured.',
    ],
    page: 'docs/method/capacity.md',
  },
  gapTimeline: {
    sentences: [
      'Time runs to the right; each row is one host, and each bar a time without data from it.',
      'Empty rows are good. Bars at the same time on many hosts have a common cause, such as the network or the service.',
      'A hatched part lies before the host was enrolled and is no gap.',
    ],
    page: 'docs/method/data-quality.md',
  },
  heatmap: {
    sentences: [
      'Time runs to the right, addresses run down in lanes of one page kind; the colour is how active a region was.',
      'Lasting bright rows are the hot set and belong in DRAM. Wide dark areas are candidates for CXL; bright areas that wander need headroom.',
      'A hatched cell was not collected. That is not the same as cold.',
    ],
    page: 'docs/method/heat.md',
  },
  hostsNeeded: {
    sentences: [
      'Each pair of bars is one quarter: hosts needed with all memory in DRAM, and with tiering.',
      'The distance between the bars is what tiering saves. Equal bars mean that tiering saves no host.',
      'A missing bar is a quarter whose demand fits no host of the plan.',
    ],
    page: 'docs/method/capacity.md',
  },
  incident: {
    sentences: [
      'All rows share one time axis, which runs to the right. The vertical lines are the moments at which the condition began to hold, and the alert fired and was resolved.',
      'Look for the row that changes first: that is where the cause is likely. Rows that change later are effects.',
      'A gap in a line is time without data; a missing row was not collected on this subject.',
    ],
    page: 'docs/method/alerts.md',
  },
  knobSearch: {
    sentences: [
      'To the right: values of one setting. Upwards: the loss. Each point is one run, and the line joins the best run at each value.',
      'A wide shaded span means that the exact value matters little. A narrow one means that it must be set with care.',
      'A value without a point was not tried, or its run has not finished.',
    ],
    page: 'docs/method/sweeps.md',
  },
  ledger: {
    sentences: [
      'Time runs to the right; promotions to DRAM are drawn up, demotions to CXL down, by cause. What DAMON moved is striped.',
      'Small bars in both directions are normal. Large bars up and down at once are ping-pong: pages move back and forth without benefit.',
      'Time without bars or lines had no data; a mark shows where counters were reset.',
    ],
    page: 'docs/method/tier-moves.md',
  },
  lines: {
    sentences: [
      'Time runs to the right; each line is one quantity, in the unit at the left axis.',
      'Compare the level with the limit line, if there is one, and look for steps at the marks of deploys and changes.',
      'A line that breaks had no data there, and a hatched column had none in any line; neither is zero.',
    ],
    page: 'docs/metrics.md',
  },
  loadedLatency: {
    sentences: [
      'To the right: the bandwidth in use. Upwards: the latency at that bandwidth. Each line is one path from processors to memory.',
      'A flat line is good. Where it bends upwards the path is saturated: keep traffic below that point.',
      'Whiskers show the spread of repetitions. Hollow points were disturbed by other load.',
    ],
    page: 'docs/operating/agent.md',
  },
  matrix: {
    sentences: [
      'Each row is a service, time runs to the right, and the colour is the cold share of its memory.',
      'A row that is always cold is a safe candidate for CXL. A row that changes by the hour has a daily cycle.',
      'A hatched cell was not collected.',
    ],
    page: 'docs/method/heat.md',
  },
  packing: {
    sentences: [
      'Each card is a kind of planned host with its count; each bar is a tier, filled by the services on it.',
      'Well filled bars waste little. Free space in one tier only means that the sizes of the tiers do not match the demand.',
      'A tier without a bar does not exist on that host.',
    ],
    page: 'docs/method/capacity.md',
  },
  pingPong: {
    sentences: [
      'Time runs to the right. Upwards: the share of promoted pages that were demoted soon after or before, or its upper bound. The strip below is the state.',
      'A low share is good. A high share that lasts means that the hot set does not fit in DRAM.',
      'A hatched part of the strip has no known state: counters were missing, or too few pages moved.',
    ],
    page: 'docs/method/ping-pong.md',
  },
  power: {
    sentences: [
      'To the right: hosts per arm. Upwards: the smallest effect that the experiment can detect.',
      'Choose an arm that lies below the effect that you look for. Above it, "no effect found" proves nothing.',
      'The line falls quickly at first and slowly later: many more hosts then help little.',
    ],
    page: 'docs/method/experiments.md',
  },
  pushes: {
    sentences: [
      'Each row is a tenant that was demoted, each column one that took memory of the top tier meanwhile.',
      'A cell is a split in proportion to what each took. Its bounds come from counting and are on hover.',
      'A bright cell with bounds from zero proves nothing; the last column is the kernel, free memory and other processes.',
    ],
    page: 'docs/method/fairness.md',
  },
  ratioWaterfall: {
    sentences: [
      'Bars go from the hot memory on the left to the advised DRAM on the right; each bar adds or takes off one part.',
      'A large part is where the advice is most sensitive. Whiskers show the bounds or the confidence interval.',
      'Parts that are zero or were not measured are left out; the table says which.',
    ],
    page: 'docs/method/ratio.md',
  },
  replay: {
    sentences: [
      'Time of the trace runs to the right, in minutes; the top is the heat of the trace, the rows below are what the policy did with it.',
      'A local share near 100 % with few moves is good. Many moves with a low local share mean that the policy follows the wrong pages.',
      'This is simulated: the accesses were recorded, the moves were computed.',
    ],
    page: 'docs/method/simulate.md',
  },
  revisit: {
    sentences: [
      'To the right: the time since memory became idle. Upwards: the share of it that was accessed again by then. The plot below is how much memory was still watched.',
      'A flat, low curve is good: idle memory stays idle and can move to CXL. A steep one means that it comes back soon.',
      'A dashed line stands on little memory. In hatched parts none was at risk, so nothing is known.',
    ],
    page: 'docs/method/revisit.md',
  },
  savingDistribution: {
    sentences: [
      'To the right: the saving per host and year. Upwards: the share of draws with that saving, when all inputs vary over their ranges.',
      'All bars right of zero are good: the option saves money under every assumption. Bars left of zero lose money.',
      'Dashed lines are percentiles. A wide spread means that inputs need better figures.',
    ],
    page: 'docs/method/tco.md',
  },
  sensitivity: {
    sentences: [
      'To the right: memory of one kind that DRAM serves. Upwards: throughput. Each point is one host in one interval.',
      'A flat line is good: this kind of memory can move to CXL. A line that rises means that it costs throughput.',
      'No line means that the points do not support a fit. Intervals without throughput have no point.',
    ],
    page: 'docs/method/sensitivity.md',
  },
  serviceHeat: {
    sentences: [
      'Each bar is a service; its length is resident memory, split into hot, warm and cold.',
      'Services with a large cold part are the best candidates for CXL.',
      'A hatched part has no heat class because it was not collected.',
    ],
    page: 'docs/method/heat.md',
  },
  swapDevices: {
    sentences: [
      'To the right: how full the device is. Each line is one kind of device under the chosen load, simulated, with the interval of three seeds.',
      'A flat line is good: the device does not mind being full. Write amplification that rises wears the drive as much faster.',
      'Level lines are figures of the ZNSwap paper, of another machine and drive: compare their ratios, not their height.',
    ],
    page: 'docs/method/swap-devices.md',
  },
  sweep: {
    sentences: [
      'To the right: DRAM as a share of memory. Upwards: the expected loss of throughput, as median and upper bound.',
      'A line that stays below the target at small shares is good. Take the smallest share whose upper bound keeps the target.',
      'Where the lines end, no share was evaluated.',
    ],
    page: 'docs/method/ratio.md',
  },
  sweepFrontier: {
    sentences: [
      'To the right: the price of memory. Upwards: the estimated loss. Each point is one run of the simulator.',
      'Points near the lower left corner are best. Points on the line are beaten by no other on both price and loss.',
      'Runs without a price or a loss cannot be placed and are left out.',
    ],
    page: 'docs/method/sweeps.md',
  },
  tierFlow: {
    sentences: [
      'Boxes are DRAM, slower tiers and swap; an arrow is as wide as the bytes per second that move along it.',
      'Wide arrows in both directions between the same tiers are pages that come back: see ping-pong.',
      'A dashed arrow is zero; a dotted one was not counted, and the table says on how many hosts it was.',
    ],
    page: 'docs/howto/fleet-page.md',
  },
  tornado: {
    sentences: [
      'Each bar is one input, varied from its low to its high value while all others stay; its length is how far the saving moves.',
      'Long bars at the top need the best figures. A bar that crosses zero can turn the saving into a loss.',
      'Inputs without a range or without effect are left out.',
    ],
    page: 'docs/method/tco.md',
  },
  windowBars: {
    sentences: [
      'Each bar is the share of resident memory that was accessed in the last N intervals. Whiskers are its bounds.',
      'Bars that stay low as N grows are good: the working set is small and stable. Bars that climb mean that accesses wander over memory.',
      'A missing bar has no value: there were too few intervals for that N.',
    ],
    page: 'docs/method/heat.md',
  },
} as const satisfies Record<string, Reading>

/** The name of a chart: that of its folder here. */
export type ChartName = keyof typeof readings
