import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { loadStateOf } from '../../api/queries/base/loadState'
import type { hostPingPongQuery } from '../../api/queries/ledger/pingPong'
import type { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { narrowGhost } from '../../charts/ghost'
import { linesInPages } from '../../charts/ledger/figure'
import { LedgerChart } from '../../charts/ledger/LedgerChart'
import { ServiceMovesChart } from '../../charts/ledger/ServiceMovesChart'
import { LinesChart } from '../../charts/lines/LinesChart'
import { formatDuration } from '../../lib/units/time'
import { countOf } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LedgerColumns } from './LedgerColumns'
import { Stack } from '../../ui/layout/Stack'
import classes from './MovesTab.module.css'
import { MoversStrip } from './MoversStrip'
import { PingPongPanel } from './PingPongPanel'
import { PingPongSection } from './PingPongSection'
import { ResetsList } from './ResetsList'
import { StatesPanel } from './StatesPanel'

interface MovesTabProps {
  /** Whose moves they are: a host, or a service, whose own cgroups are summed over its hosts. */
  id: string
  ledgerOf: typeof hostLedgerQuery
  pingPongOf: typeof hostPingPongQuery
  marks: ChartMark[]
  comparison: TimeComparison | null
}

const swapKeys = /^(swap_in|swap_out|refault_anon|refault_file)/

/** A ledger: moves over time, ping-pong or its bound, every column with its trust, what was left out. */
export function MovesTab({ id, ledgerOf, pingPongOf, marks, comparison }: MovesTabProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(ledgerOf(id, range))
  const pingPong = useQuery(pingPongOf(id, range))
  const other = askOther(comparison, id, range)
  const ghost = useGhost(comparison, useQuery({ ...ledgerOf(other.id, other.range), ...other.options }), linesInPages)
  const otherPingPong = useQuery({ ...pingPongOf(other.id, other.range), ...other.options })
  const pingPongGhost = useGhost(comparison, otherPingPong, seriesOf)
  const ledger = query.data
  const load = loadStateOf(query)
  const swap = useMemo(() => (ledger?.series ?? []).filter((line) => swapKeys.test(line.key)), [ledger])
  const swapGhost = useMemo(
    () =>
      narrowGhost(
        ghost,
        swap.map(({ key }) => key),
      ),
    [ghost, swap],
  )
  if (load.problem !== null && ledger === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const warnings = [...new Set(ledger?.columns.flatMap((column) => column.total.warnings))]
  return (
    <Stack>
      {warnings.map((warning) => (
        <p key={warning} className={classes.warning} role="note">
          {warning}
        </p>
      ))}
      <StatesPanel ledger={ledger} />
      <div className={classes.wide}>
        <LedgerChart ledger={ledger} load={load} height={320} marks={marks} ghost={ghost} onTimeZoom={zoomTo} />
        <PingPongPanel pingPong={ledger?.ping_pong} />
      </div>
      <MoversStrip ledger={ledger} />
      {ledger !== undefined && ledger.services.length > 0 && (
        <ServiceMovesChart ledger={ledger} load={load} height={260} marks={marks} onTimeZoom={zoomTo} />
      )}
      <PingPongSection
        history={pingPong.data}
        load={loadStateOf(pingPong)}
        marks={marks}
        ghost={pingPongGhost}
        onTimeZoom={zoomTo}
      />
      {swap.length > 0 && (
        <LinesChart
          name="swap-refaults"
          title="Swap and refaults"
          label="Swap and refaults over time"
          load={load}
          axis={ledger?.axis}
          lines={swap}
          ghost={swapGhost}
          height={180}
          marks={marks}
          evidence={ledger?.columns.find((column) => swapKeys.test(column.key))?.rate}
          onTimeZoom={zoomTo}
          emptyText={{
            title: 'No swap or refault counters',
            next: 'Nobody sends them, or the kernel does not count them here: see the columns below.',
          }}
        />
      )}
      <Panel
        title="Ledger"
        hint={
          ledger === undefined
            ? undefined
            : `${ledger.columns.length} columns · kernel dialect ${ledger.dialect} · ${countOf(ledger.n_hosts, 'host')} · totals of ${formatDuration((Date.parse(ledger.window.end) - Date.parse(ledger.window.start)) / 1000)}`
        }
        flush
        testId="ledger-columns"
      >
        <LedgerColumns columns={ledger?.columns} />
      </Panel>
      {ledger !== undefined && ledger.resets.length > 0 && <ResetsList resets={ledger.resets} />}
    </Stack>
  )
}
