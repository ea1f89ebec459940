import classes from './Legend.module.css'

/**
 * One entry of a legend; `hatched` entries show the hatching of what was not collected, those with a `line` how it is
 * drawn, `striped` ones bars with stripes.
 */
export interface LegendItem {
  label: string
  colour?: string
  hatched?: boolean
  line?: 'dashed' | 'dotted' | undefined
  striped?: boolean | undefined
}

/** A legend above a chart, never over its data. */
export function Legend({ items }: { items: LegendItem[] }) {
  return (
    <ul className={classes.legend}>
      {items.map((item) => (
        <li key={item.label} className={classes.item}>
          {item.line !== undefined && <span className={classes.line} style={{ borderTopStyle: item.line }} />}
          {(item.colour !== undefined || item.hatched) && (
            <span
              className={item.hatched ? `${classes.swatch} ts-hatch-swatch` : classes.swatch}
              data-striped={item.striped}
              style={{ background: item.colour }}
            />
          )}
          {item.label}
        </li>
      ))}
    </ul>
  )
}
