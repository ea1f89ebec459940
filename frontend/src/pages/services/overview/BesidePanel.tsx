import type { BesideHeat, WrittenWindow } from '../../../api/_generated/schema'
import { FigureText } from '../../../ui/figures/FigureText'
import { Panel } from '../../../ui/layout/Panel'
import { EmptyState } from '../../../ui/states/EmptyState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ToneTag } from '../../../ui/tags/ToneTag'
import classes from './BesidePanel.module.css'

const columns: Column<WrittenWindow>[] = [
  {
    key: 'window',
    header: 'Within',
    cell: (window) => `${window.intervals} ${window.intervals === 1 ? 'interval' : 'intervals'}`,
  },
  labelledColumn('bytes', 'Written', (window) => [window.bytes, `Bytes written within ${window.intervals} intervals`]),
  labelledColumn('ratio', 'Of tracked memory', (window) => [
    window.ratio,
    `Share written within ${window.intervals} intervals`,
  ]),
]

/** What stands beside heat: stores where writes are tracked, dirty memory, and what huge pages hide. None is heat. */
export function BesidePanel({ beside }: { beside: BesideHeat | undefined }) {
  const huge = beside?.huge_pages
  const dirty = beside?.dirty
  const written = beside?.written.find((window) => window.bytes.status === 'ok')
  const isAbsent = written === undefined && huge?.hot_bytes_upper.status !== 'ok' && dirty?.bytes.status !== 'ok'
  if (beside !== undefined && isAbsent)
    return (
      <Panel title="Stores, dirty memory and huge pages" testId="beside-heat">
        <EmptyState title="Stores: not collected" next={beside.written[0]?.bytes.reason ?? 'Writes are not tracked.'} />
      </Panel>
    )
  return (
    <Panel
      title="Stores, dirty memory and huge pages"
      hint="shown next to heat, never counted as heat"
      flush
      testId="beside-heat"
    >
      <DataTable
        label="Memory written"
        columns={columns}
        rows={beside?.written}
        rowKey={(window) => String(window.intervals)}
        skeletonRows={4}
      />
      {dirty?.bytes.status === 'ok' && (
        <dl className={classes.facts}>
          <div>
            <dt>Dirty: to be saved before it can be given away</dt>
            <dd>
              <FigureText figure={dirty.bytes} label="Dirty bytes" />
              <FigureText figure={dirty.ratio} label="Share of memory that is dirty" />
            </dd>
          </div>
          {dirty.classes.map((part) => (
            <div key={part.heat_class}>
              <dt>of {part.heat_class} memory, at least and at most</dt>
              <dd>
                <FigureText figure={part.bytes_lower} label={`Dirty bytes of ${part.heat_class} memory, lower bound`} />
                <FigureText figure={part.bytes_upper} label={`Dirty bytes of ${part.heat_class} memory, upper bound`} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {huge !== undefined && (
        <dl className={classes.facts}>
          <div>
            <dt>Hot huge pages, as whole pages</dt>
            <dd>
              <FigureText figure={huge.hot_bytes_upper} label="Hot bytes of huge pages, as whole pages" />
            </dd>
          </div>
          <div>
            <dt>of which sub-pages seen accessed</dt>
            <dd>
              <FigureText figure={huge.hot_bytes_lower} label="Hot bytes of huge pages, lower bound" />
              {huge.skewed === true && (
                <ToneTag
                  tone="warning"
                  label="skewed"
                  meaning="Less than a tenth of these huge pages is accessed: splitting them may help."
                />
              )}
            </dd>
          </div>
        </dl>
      )}
    </Panel>
  )
}
