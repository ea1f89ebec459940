import { Tooltip } from '@mantine/core'
import type { FigureValue } from '../../lib/units/figure'
import { heatColours } from '../../lib/palette'
import { formatRatio } from '../../lib/units/units'
import { Nothing } from '../states/Nothing'
import classes from './HeatBar.module.css'

interface HeatBarProps {
  hot: FigureValue
  warm: FigureValue
  cold: FigureValue
}

/** Hot, warm and cold as one bar; what is not known of the total stays hatched. */
export function HeatBar({ hot, warm, cold }: HeatBarProps) {
  const parts = [
    { name: 'hot', figure: hot, colour: heatColours.hot },
    { name: 'warm', figure: warm, colour: heatColours.warm },
    { name: 'cold', figure: cold, colour: heatColours.cold },
  ].filter((part) => part.figure.status === 'ok' && part.figure.value !== null)
  const first = [hot, warm, cold].find((figure) => figure.status !== 'ok')
  if (parts.length === 0 && first !== undefined && first.status !== 'ok') {
    return <Nothing status={first.status} reason={first.reason} />
  }
  const text = parts.map((part) => `${part.name} ${formatRatio(part.figure.value ?? 0)}`).join(', ')
  return (
    <Tooltip label={text}>
      <div className={`${classes.bar} ts-hatch-swatch`} role="img" aria-label={text}>
        {parts.map((part) => (
          <span
            key={part.name}
            className={classes.part}
            style={{ width: `${(part.figure.value ?? 0) * 100}%`, background: part.colour }}
          />
        ))}
      </div>
    </Tooltip>
  )
}
