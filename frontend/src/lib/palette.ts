/** Colours that mean something. Each has one meaning in the whole app, in both themes; never colour alone. */

export type ThemeName = 'light' | 'dark'

/** Heat classes: the warm end is hot; told apart by lightness too, for colour-blind readers. */
export const heatColours = { hot: '#e4572e', warm: '#f0b84f', cold: '#4a7fc1', unknown: '#8d98a3' } as const

/** One fixed colour per page kind; `all` is the text's own tone, because it is their sum. */
const kindColours: Record<string, string> = {
  anon: '#c2544a',
  file: '#0f8fb3',
  tmpfs: '#8a8a34',
  all: '#6f8494',
}

/** The colour of a page kind. */
export function kindColour(kind: string): string {
  return kindColours[kind] ?? '#8d98a3'
}

/** A `#rrggbb` colour at an opacity from 0 to 1. */
export function translucent(colour: string, opacity: number): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  return `rgba(${red},${green},${blue},${opacity})`
}

/** One fixed colour per tier class. */
const tierColours: Record<string, string> = {
  hbm: '#c86b98',
  dram: '#12927f',
  cxl: '#8f6bc8',
  pmem: '#8a8a34',
  gpu: '#4f7fb8',
  zswap: '#6f8494',
  swap: '#55626d',
}

/** The colour of a tier class; a class that is new to this dashboard is drawn in neutral grey. */
export function tierColour(tierClass: string): string {
  return tierColours[tierClass] ?? '#8d98a3'
}

/** States of ping-pong; told apart by height or icon too. */
export const stateColours = { ok: '#3f9c74', warn: '#d9922b', crit: '#c8352b' } as const

/** How good a state is, as the fill of a tile with a word in it: told apart by lightness, too. */
export const toneColours = {
  light: { good: '#cfe3d8', info: '#b9d3ea', warning: '#f0b84f', critical: '#c8352b', neutral: '#dfe3e6' },
  dark: { good: '#26453a', info: '#2c4a66', warning: '#b67a1e', critical: '#d0453b', neutral: '#39464f' },
} as const

/** Directions of tier moves: towards DRAM in its colour, away from it in CXL's. */
export const moveColours = { promotion: '#12927f', demotion: '#8f6bc8', other: '#8d98a3', failed: '#c2410c' } as const

/** The same directions where DAMON moves; drawn with stripes, too. */
export const damonColours = { promotion: '#62b8a8', demotion: '#b46fa8' } as const

/** What a change does to cost: apart in hue and lightness from tiers and severities; signs tell them apart too. */
export const costColours = { less: '#3477a8', more: '#c7781e', total: '#6f8494' } as const

/** Why intervals are missing: what somebody wanted or what heals by itself is quiet, what lost data is not. */
export const gapColours = {
  silent: '#c8352b',
  restart: '#c7781e',
  new_stream: '#8f6bc8',
  dropped: '#8a2b62',
  paused: '#3477a8',
  on_the_way: '#12927f',
  unknown: '#6f8494',
} as const

/** States of a rule over time; they are told apart by their place and name, too. */
export const ruleStateColours = {
  light: { ok: '#d5e6dc', resolved: '#d5e6dc', pending: '#8fb4d6', firing: '#c8352b', no_data: '#c9d1d7' },
  dark: { ok: '#26392f', resolved: '#26392f', pending: '#42688c', firing: '#e0594f', no_data: '#39464f' },
} as const

/** An input's two ends: one hue, light and dark, because neither end is the better one. */
export const swingColours = { low: '#9db8d1', high: '#3f7fb5' } as const

/** Neutral series colours (after Okabe and Ito), for counters and other lines without a meaning of their own. */
const seriesColours = ['#0f8fb3', '#e08e1b', '#12927f', '#c86b98', '#8f6bc8', '#8a8a34', '#c2544a', '#6f8494'] as const

/** The colour of the n-th series, cycling. */
export function seriesColour(index: number): string {
  return seriesColours[index % seriesColours.length] ?? '#0f8fb3'
}

/** What Plotly needs of a theme; the rest of the app uses the CSS variables of the same values. */
export interface ChartTheme {
  name: ThemeName
  text: string
  dimmed: string
  grid: string
  line: string
  surface: string
  /** Fill of a plot where nothing was collected; the page lays hatching over it. */
  absent: string
  /** What is advised. */
  accent: string
  /** Where a limit is exceeded. */
  beyond: string
  /** Events: deploys, knob changes, notes. */
  mark: string
  /** The lines of that hatching, where a chart draws it itself. */
  hatch: string
  /** Address space that is not resident. */
  notResident: string
  /** Resident, but not sampled. */
  unsampled: string
}

/** Both themes, designed apart rather than inverted. */
export const chartThemes: Record<ThemeName, ChartTheme> = {
  light: {
    name: 'light',
    text: '#1d272e',
    dimmed: '#5a6872',
    grid: '#e6eaed',
    line: '#c3ccd2',
    surface: '#ffffff',
    absent: '#f3f5f6',
    accent: '#0b6f61',
    beyond: '#b3261e',
    mark: '#6b3fa0',
    hatch: '#c9d1d7',
    notResident: '#ffffff',
    unsampled: '#c9b8c9',
  },
  dark: {
    name: 'dark',
    text: '#dfe6ea',
    dimmed: '#93a1aa',
    grid: '#232c33',
    line: '#39464f',
    surface: '#151b20',
    absent: '#1a2127',
    accent: '#4db59f',
    beyond: '#ff8a80',
    mark: '#c9a6f5',
    hatch: '#3a4750',
    notResident: '#151b20',
    unsampled: '#5f4c63',
  },
}

/** Cividis, sampled: cold end first. Perceptually even and safe for all common colour vision deficiencies. */
export const cividis: [number, string][] = [
  [0, '#00224e'],
  [0.125, '#0b3272'],
  [0.25, '#35456c'],
  [0.375, '#575c6d'],
  [0.5, '#7a7b78'],
  [0.625, '#958f78'],
  [0.75, '#b9ac70'],
  [0.875, '#dfca55'],
  [1, '#fee838'],
]

/** Inferno, sampled: used for activity, where the warm end must stand out. */
export const inferno: [number, string][] = [
  [0, '#0b0724'],
  [0.125, '#280b53'],
  [0.25, '#57106e'],
  [0.375, '#89226a'],
  [0.5, '#bb3754'],
  [0.625, '#e35933'],
  [0.75, '#f98e09'],
  [0.875, '#f9c932'],
  [1, '#fcffa4'],
]

/** The colour of a scale at a place from 0 to 1, between its two nearest stops. */
export function colourAt(scale: [number, string][], place: number): string {
  const at = Math.min(1, Math.max(0, place))
  const above = scale.findIndex(([stop]) => stop >= at)
  const [to, end] = scale[Math.max(above, 0)] ?? [0, '#000000']
  const [from, start] = scale[Math.max(above - 1, 0)] ?? [0, end]
  const share = to === from ? 0 : (at - from) / (to - from)
  const part = (colour: string, index: number) => Number.parseInt(colour.slice(index, index + 2), 16)
  const mixed = [1, 3, 5].map((index) => Math.round(part(start, index) * (1 - share) + part(end, index) * share))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

/** The upper three quarters of inferno: activity, from the least to the most. */
export const activityColours: [number, string][] = inferno
  .filter(([at]) => at >= 0.25)
  .map(([at, colour]) => [(at - 0.25) / 0.75, colour])

/** Memory that was sampled and not accessed: the dark end of inferno, apart from the least activity. */
export const idleColour = '#0b0724'

/**
 * Change, from less (blue) over none (neutral) to more (red or orange); told apart by lightness too, and safe for all
 * common colour vision deficiencies (after ColorBrewer RdBu).
 */
export const changeColours: Record<ThemeName, [number, string][]> = {
  light: [
    [0, '#2166ac'],
    [0.25, '#67a9cf'],
    [0.45, '#d5e3ec'],
    [0.5, '#e9ebec'],
    [0.55, '#f3ddd0'],
    [0.75, '#ef8a62'],
    [1, '#b2182b'],
  ],
  dark: [
    [0, '#92d0f5'],
    [0.25, '#3f88b5'],
    [0.45, '#263f4f'],
    [0.5, '#262d33'],
    [0.55, '#4a3327'],
    [0.75, '#c9652f'],
    [1, '#ffbf8c'],
  ],
}

/** Memory that one side of a comparison has: far apart in lightness, and in no hue of a change. */
export const oneSideColours = { now: '#e6c229', then: '#176b5e' } as const
