import classes from './Legend.module.css'

/** One entry of a legend; `hatched` entries show the hatching of what was not collected. */
export interface LegendItem {
  label: string
  colour?: string
  hatched?: boolean
}

/** A legend above a chart, never over its data. */
export function Legend({ items }: { items: LegendItem[] }) {
  return (
    <ul className={classes.legend}>
      {items.map((item) => (
        <li key={item.label} className={classes.item}>
          {(item.colour !== undefined || item.hatched) && (
            <span
              className={item.hatched ? `${classes.swatch} ts-hatch-swatch` : classes.swatch}
              style={{ background: item.colour }}
            />
          )}
          {item.label}
        </li>
      ))}
    </ul>
  )
}
