import type { Layout } from 'plotly.js'
import type { ChartTheme } from '../lib/palette'
import { plotText } from '../lib/text/escape'
import { parquetColumns, windowOfTable } from '../lib/export/parquetColumns'
import { formatWindow } from '../lib/units/time'
import { downloadUrl, exportName, type ExportOrigin } from '../ui/export/download'
import type { LegendItem } from '../ui/layout/Legend'
import type { ChartFigure } from './chartFigure'

/** The height, in pixels, of a line over a picture. */
const lineHeight = 18

/**
 * The lines over a picture: its title; the time range, and that it is simulated where it is; its
 * legend. In the markup of Plotly.
 */
export function pictureHead(title: string, { origin, window }: ExportOrigin, legend: LegendItem[]): string[] {
  const range = window === null ? [] : [formatWindow(new Date(window.start), new Date(window.end))]
  const facts = [...(origin === 'simulated' ? ['Simulated data'] : []), ...range]
  const items = legend.map(({ label, colour }) =>
    colour === undefined ? plotText(label) : `<span style="color:${colour}">■</span> ${plotText(label)}`,
  )
  return [`<b>${plotText(title)}</b>`, plotText(facts.join(' · ')), items.join('   ')].filter((line) => line !== '')
}

/** A figure's layout with room for its head. */
export function pictureLayout(
  figure: ChartFigure,
  size: { width: number; height: number },
  head: string[],
  theme: ChartTheme,
): Partial<Layout> {
  const { layout } = figure
  const headHeight = (head.length + 1) * lineHeight
  return {
    ...layout,
    width: size.width,
    height: size.height + headHeight,
    margin: { ...layout.margin, t: (layout.margin?.t ?? 8) + headHeight },
    annotations: [
      ...(layout.annotations ?? []),
      {
        text: head.join('<br>'),
        xref: 'paper',
        yref: 'paper',
        x: 0,
        y: 1,
        xanchor: 'left',
        yanchor: 'bottom',
        yshift: (layout.margin?.t ?? 8) + 4,
        align: 'left',
        showarrow: false,
        font: { size: 13, color: theme.text },
      },
    ],
  }
}

/** Hand out a figure as a PNG at twice its size, drawn anew, so that a chart that is shown as a table has one, too. */
export async function downloadPng(
  { name, title, legend, theme }: { name: string; title: string; legend: LegendItem[]; theme: ChartTheme },
  figure: ChartFigure,
  size: { width: number; height: number },
  origin: ExportOrigin,
): Promise<void> {
  const { Plotly } = await import('./plotlyBundle')
  const window = windowOfTable(parquetColumns(figure.table)) ?? origin.window
  const layout = pictureLayout(figure, size, pictureHead(title, { ...origin, window }, legend), theme)
  const { width = size.width, height = size.height } = layout
  const picture = { data: figure.data, layout }
  downloadUrl(
    `${exportName(name, origin)}.png`,
    await Plotly.toImage(picture, { format: 'png', width, height, scale: 2 }),
  )
}
