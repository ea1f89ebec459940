import { Tooltip } from '@mantine/core'
import type { NodeInfo } from '../../../api/_generated/schema'
import { tierColour } from '../../../lib/palette'
import { formatBytes } from '../../../lib/units/units'
import classes from './WatermarkBar.module.css'

interface Part {
  name: string
  bytes: number
  opacity: number
}

function partsOf(node: NodeInfo, total: number, free: number): Part[] {
  const used = Math.max(0, total - free)
  const anon = Math.min(node.anon_bytes ?? 0, used)
  const file = Math.min(node.file_bytes ?? 0, used - anon)
  return [
    { name: 'anon', bytes: anon, opacity: 1 },
    { name: 'file', bytes: file, opacity: 0.6 },
    { name: 'other', bytes: used - anon - file, opacity: 0.3 },
  ].filter((part) => part.bytes > 0)
}

/** Use of a node by kind from the left, and the watermarks measured from the right, where free memory is. */
export function WatermarkBar({ node, largestBytes }: { node: NodeInfo; largestBytes: number }) {
  const { memory_bytes: total, free_bytes: free } = node
  if (total === null || free === null || total === 0)
    return <div className={`${classes.bar} ts-hatch-swatch`} title="use not collected" />
  const marks = [
    { name: 'low', bytes: node.watermark_low_bytes },
    { name: 'high', bytes: node.watermark_high_bytes },
    { name: 'promo', bytes: node.watermark_promo_bytes },
  ].flatMap(({ name, bytes }) => (bytes === null ? [] : [{ name, bytes }]))
  const below = [...marks].reverse().find((mark) => free < mark.bytes)
  const text = [
    ...partsOf(node, total, free).map((part) => `${part.name} ${formatBytes(part.bytes)}`),
    `free ${formatBytes(free)}`,
    ...marks.map((mark) => `${mark.name} watermark ${formatBytes(mark.bytes)}`),
  ].join(', ')
  return (
    <>
      <Tooltip label={text}>
        <div
          className={classes.bar}
          style={{ width: `${Math.max(30, (total / largestBytes) * 100)}%` }}
          role="img"
          aria-label={text}
        >
          {partsOf(node, total, free).map((part) => (
            <span
              key={part.name}
              className={classes.part}
              style={{
                width: `${(part.bytes / total) * 100}%`,
                background: tierColour(node.tier_class),
                opacity: part.opacity,
              }}
            />
          ))}
          {marks.map((mark) => (
            <span
              key={mark.name}
              className={classes.mark}
              style={{ right: `${Math.min(100, (mark.bytes / total) * 100)}%` }}
            />
          ))}
        </div>
      </Tooltip>
      <div className={classes.caption}>
        {marks.length === 0
          ? 'watermarks not collected'
          : below === undefined
            ? `free is above the watermarks (${marks.map((mark) => mark.name).join(', ')})`
            : `free is below the ${below.name} watermark of ${formatBytes(below.bytes)}`}
      </div>
    </>
  )
}
