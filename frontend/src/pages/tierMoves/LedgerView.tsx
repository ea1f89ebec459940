import { useMemo } from 'react'
import type { Ledger, PingPongHistory } from '../../api/_generated/schema'
import type { ChartMark } from '../../charts/eventMarks'
import { narrowGhost, type Ghost } from '../../charts/ghost'
import { LedgerChart } from '../../charts/ledger/LedgerChart'
import { ServiceMovesChart } from '../../charts/ledger/ServiceMovesChart'
import { LinesChart } from '../../charts/lines/LinesChart'
import type { LoadState } from '../../lib/loadState'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { LedgerColumns } from './LedgerColumns'
import { Stack } from '../../ui/layout/Stack'
import classes from './LedgerView.module.css'
import { MoversStrip } from './MoversStrip'
import { PingPongPanel } from './PingPongPanel'
import { PingPongSection } from './PingPongSection'
import { ResetsList } from './ResetsList'
import { StatesPanel } from './StatesPanel'

interface LedgerViewProps {
  ledger: Ledger | undefined
  load: LoadState
  pingPong: PingPongHistory | undefined
  pingPongLoad: LoadState
  marks: ChartMark[]
  /** The ledger and the ping-pong that these are compared with. */
  ghost: Ghost | null
  pingPongGhost: Ghost | null
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

const swapKeys = /^(swap_in|swap_out|refault_anon|refault_file)/

/** A ledger: moves over time, ping-pong or its bound, every column with its trust, what was left out. */
export function LedgerView(props: LedgerViewProps) {
  const { ledger, load, pingPong, pingPongLoad, marks, ghost, pingPongGhost, onTimeZoom } = props
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
        <LedgerChart ledger={ledger} load={load} height={320} marks={marks} ghost={ghost} onTimeZoom={onTimeZoom} />
        <PingPongPanel pingPong={ledger?.ping_pong} />
      </div>
      <MoversStrip ledger={ledger} />
      {ledger !== undefined && ledger.services.length > 0 && (
        <ServiceMovesChart ledger={ledger} load={load} height={260} marks={marks} onTimeZoom={onTimeZoom} />
      )}
      <PingPongSection
        history={pingPong}
        load={pingPongLoad}
        marks={marks}
        ghost={pingPongGhost}
        onTimeZoom={onTimeZoom}
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
          onTimeZoom={onTimeZoom}
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
            : `${ledger.columns.length} columns · kernel dialect ${ledger.dialect} · ${ledger.n_hosts} host${ledger.n_hosts === 1 ? '' : 's'}`
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
