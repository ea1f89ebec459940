import type { FleetDrift, FleetGrid } from '../../api/_generated/schema'
import { quietOf } from '../../lib/fleet/causes'
import { cividis, colourAt, toneColours, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { verdictText } from '../../lib/text/verdicts'
import { formatBytes, formatCount, formatQuantity, formatRatio } from '../../lib/units/units'
import { baseLayout, colourBar } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { percentEnds } from '../percentEnds'

type GridHost = FleetGrid['hosts'][number]
type GridPart = FleetGrid['parts'][number]
type HostDrift = FleetDrift['hosts'][number]

/** By what tiles are coloured. */
export const gridColours = ['verdict', 'cold', 'psi', 'drift'] as const
export type GridColour = (typeof gridColours)[number]

const colourTitles: Record<Exclude<GridColour, 'verdict'>, string> = {
  cold: 'cold, %',
  psi: 'PSI some, %',
  drift: 'distance from peers, robust z',
}

/** Beyond this score all tiles have one colour: a group that hardly spreads gives scores without end. */
const furthestShown = 10

/** By what hosts can be grouped: their service, kernel, or any label that some have. */
export function gridGroups(grid: FleetGrid): { value: string; label: string }[] {
  return [
    { value: 'service', label: 'service' },
    { value: 'kernel', label: 'kernel' },
    ...grid.label_keys.map((key) => ({ value: `label:${key}`, label: key })),
  ]
}

function groupOf(host: Tile, group: string): string {
  if (host.part !== undefined) return host.part.group ?? 'not known'
  const name = group === 'service' ? host.service : group === 'kernel' ? host.kernel : host.labels[group.slice(6)]
  return name ?? 'not known'
}

/** A host, or hosts of one group that are alike in what is known of them. */
interface Tile extends GridHost {
  part?: GridPart
}

/** What is drawn: every host, or the parts of a fleet that has more hosts than can be drawn. */
export function tilesOf(grid: FleetGrid): Tile[] {
  return [
    ...grid.hosts,
    ...grid.parts.map((part, index) => ({
      ...part,
      part,
      id: `part:${index}`,
      name: part.hosts === 1 ? '1 host' : `${formatCount(part.hosts)} hosts`,
      service: null,
      labels: {},
      kernel: null,
    })),
  ]
}

/** What the colour shows of a host, in the unit of its scale: per cent, or robust standard deviations. */
function amountOf(host: Tile, colour: GridColour, drift: HostDrift | undefined): number | null {
  if (colour === 'drift') return drift === undefined ? null : Math.abs(drift.score)
  const ratio = colour === 'cold' ? host.cold_ratio : host.psi_memory_some_ratio
  return ratio === null ? null : ratio * 100
}

/** Where a scale ends: pressure is small, its scale ends at the next per cent, that of shares at the next ten. */
function scaleEnd(colour: GridColour, amounts: (number | null)[]): number {
  if (colour === 'drift')
    return Math.min(furthestShown, Math.ceil(Math.max(4, ...amounts.map((amount) => amount ?? 0))))
  const ratios = amounts.map((amount) => (amount === null ? null : amount / 100))
  return percentEnds([0, ...ratios], colour === 'psi' ? 1 : 10).high
}

/** What else tiles show: how far hosts are from their peers, and which of them are chosen. */
interface GridMore {
  drift?: FleetDrift | undefined
  chosen?: ReadonlySet<string>
}

/** Hosts as tiles within their groups: as large as their memory, coloured by how they do. */
export function fleetGridFigure(
  grid: FleetGrid,
  group: string,
  colour: GridColour,
  theme: ChartTheme,
  { drift, chosen = new Set() }: GridMore = {},
): ChartFigure {
  const drifts = new Map(drift?.hosts.map((one) => [one.host_id, one]))
  const tiles = tilesOf(grid)
  const sized = tiles.filter((host) => host.memory_bytes !== null && host.memory_bytes > 0)
  const groups = [...new Set(sized.map((host) => groupOf(host, group)))].sort()
  const amount = (host: Tile) => amountOf(host, colour, drifts.get(host.id))
  const end = scaleEnd(colour, sized.map(amount))
  const colourOf = (host: Tile): string => {
    if (colour === 'verdict') return toneColours[theme.name][tileTone(host)]
    const value = amount(host)
    return value === null ? theme.absent : colourAt(cividis, value / end)
  }
  const isChosen = [...groups.map(() => false), ...sized.map((host) => chosen.has(host.id))]
  return {
    data: [
      {
        type: 'treemap',
        branchvalues: 'remainder',
        ids: [...groups.map((name) => `group:${name}`), ...sized.map((host) => host.id)],
        labels: [...groups.map(plotText), ...sized.map((host) => plotText(shortName(host.name, groupOf(host, group))))],
        parents: [...groups.map(() => ''), ...sized.map((host) => `group:${groupOf(host, group)}`)],
        values: [...groups.map(() => 0), ...sized.map((host) => host.memory_bytes ?? 0)],
        text: [...groups.map(() => ''), ...sized.map((host) => plotText(tileWord(host, colour, amount(host))))],
        customdata: [
          ...groups.map((name) => plotText(name)),
          ...sized.map((host) => hoverText(host, drifts.get(host.id), drift !== undefined)),
        ],
        textinfo: 'label+text',
        hovertemplate: '%{customdata}<extra></extra>',
        textfont: { size: 11 },
        tiling: { packing: 'squarify', pad: 1 },
        pathbar: { visible: false },
        marker: {
          line: {
            width: isChosen.map((is) => (is ? 3 : 1)),
            color: isChosen.map((is) => (is ? theme.mark : theme.surface)),
          },
          pad: { t: 18, l: 2, r: 2, b: 2 },
          colors: [...groups.map(() => theme.absent), ...sized.map(colourOf)],
        },
      } as unknown as ChartFigure['data'][number],
      ...(colour === 'verdict' ? [] : [scaleOf(colourTitles[colour], end, theme)]),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 8, r: 8, t: 4, b: 8, pad: 0 },
      xaxis: { visible: false },
      yaxis: { visible: false },
    },
    table: {
      columns: [
        'host',
        'group',
        'memory (B)',
        'state',
        'verdict',
        'cold (ratio)',
        'PSI some (ratio)',
        ...(drift === undefined ? [] : ['furthest from peers in', 'robust z']),
      ],
      rows: tiles.map((host) => [
        host.name,
        groupOf(host, group),
        host.memory_bytes,
        host.state,
        host.verdict,
        host.cold_ratio,
        host.psi_memory_some_ratio,
        ...(drift === undefined ? [] : [drifts.get(host.id)?.label ?? null, drifts.get(host.id)?.score ?? null]),
      ]),
    },
  }
}

/** What a tile says: the worst of the host's silence, verdict, settings and findings, as the list of causes has it. */
function tileState(host: GridHost): { word: string; tone: keyof (typeof toneColours)['light'] } {
  const verdict = verdictText(host.verdict)
  const quiet = quietOf(host)
  if (quiet === 'silent') return { word: 'silent', tone: 'critical' }
  if (verdict.tone === 'critical') return { word: verdict.label, tone: 'critical' }
  if (host.finding_severity === 'critical') return { word: 'critical finding', tone: 'critical' }
  if (verdict.tone === 'warning') return { word: verdict.label, tone: 'warning' }
  if (quiet === 'late') return { word: 'late', tone: 'warning' }
  if (host.tiering_off === true) return { word: 'tiering disabled', tone: 'warning' }
  if (host.finding_severity === 'warning') return { word: 'finding', tone: 'warning' }
  return { word: verdict.label, tone: verdict.tone }
}

/** How grave it is what a tile says. */
export function tileTone(host: GridHost) {
  return tileState(host).tone
}

/** A host's name without that of its group: the group's stands above its tiles. */
function shortName(name: string, group: string): string {
  const rest = name.startsWith(group) ? name.slice(group.length).replace(/^[-_.]+/, '') : name
  return rest === '' ? name : rest
}

/** The colour bar alone: a treemap has one scale for numbers, and none for what nobody collected. */
function scaleOf(title: string, end: number, theme: ChartTheme): ChartFigure['data'][number] {
  return {
    type: 'scatter',
    mode: 'markers',
    x: [null],
    y: [null],
    hoverinfo: 'skip',
    showlegend: false,
    marker: {
      color: [0],
      colorscale: cividis,
      cmin: 0,
      cmax: end,
      showscale: true,
      colorbar: colourBar(theme, title),
    },
  }
}

function tileWord(host: GridHost, colour: GridColour, amount: number | null): string {
  if (colour === 'verdict') return tileState(host).word
  if (colour === 'drift') return amount === null ? 'no peers' : `z ${amount.toFixed(1)}`
  return amount === null ? 'not collected' : formatRatio(amount / 100)
}

/** The metric in which a host is furthest from its peers, with its value and their median. */
function driftText(drift: HostDrift | undefined): string {
  if (drift === undefined) return 'fewer than 7 peers to compare with'
  const { label, unit, value, median, score, n_hosts, service } = drift
  const values = `${formatQuantity(value, unit)}, peers’ median ${formatQuantity(median, unit)}`
  const group = `${n_hosts} ${service} hosts alike`
  return `${plotText(`furthest in ${label}: ${values}`)}<br>${plotText(`robust z ${score.toFixed(1)} among ${group}`)}`
}

function hoverText(host: GridHost, drift: HostDrift | undefined, withDrift: boolean): string {
  const share = (name: string, ratio: number | null) =>
    `${name}: ${ratio === null ? 'not collected' : formatRatio(ratio)}`
  return [
    `<b>${plotText(host.name)}</b>`,
    `${host.memory_bytes === null ? 'memory not known' : formatBytes(host.memory_bytes)}, ${host.state ?? 'state not known'}`,
    plotText(verdictText(host.verdict).label),
    share('cold', host.cold_ratio),
    share('PSI some', host.psi_memory_some_ratio),
    ...(withDrift ? [driftText(drift)] : []),
  ].join('<br>')
}
