import { Group, SegmentedControl, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { ratioQuery } from '../../api/queries/ratio'
import { formatRatio } from '../../lib/units/units'
import { growthChoices, lossTargets } from '../../lib/url/urlState'
import { PointsPanel } from '../ratio/PointsPanel'
import { RatioView } from '../ratio/RatioView'
import { SlowMemoryPicker } from '../ratio/SlowMemoryPicker'
import { SwapTierPanel } from '../ratio/SwapTierPanel'
import { useTimeRange } from '../shell/time/useTimeRange'
import { NotesList } from '../../ui/text/NotesList'
import { Stack } from '../../ui/layout/Stack'
import classes from './overview/OverviewTab.module.css'
import { useRatioChoice } from './useRatioChoice'
import { SwitchField } from '../../ui/inputs/fields'

/** How much DRAM the service needs at the loss that its owner accepts. */
export function AdviceTab({ serviceId }: { serviceId: string }) {
  const { range } = useTimeRange()
  const { choice, choose } = useRatioChoice()
  const query = useQuery(ratioQuery(serviceId, choice, range))
  const load = loadStateOf(query)
  const ratio = query.data
  const target = choice.loss ?? ratio?.loss_target
  return (
    <Stack testId="advice">
      <Group gap={12} wrap="wrap">
        <Group gap={6}>
          <span className={classes.words} id="loss-target">
            Acceptable loss
          </span>
          <SegmentedControl
            aria-labelledby="loss-target"
            value={String(target ?? '')}
            onChange={(value) => choose({ loss: Number(value) })}
            data={lossTargets.map((loss) => ({ value: String(loss), label: formatRatio(loss) }))}
          />
        </Group>
        <Select
          aria-label="Growth"
          w={150}
          value={String(choice.growth)}
          onChange={(value) => choose({ growth: Number(value ?? 0) })}
          data={growthChoices.map((growth) => ({
            value: String(growth),
            label: growth === 0 ? 'no growth' : `${formatRatio(growth)} growth`,
          }))}
        />
        <SwitchField
          label="DRAM must hold the hot memory"
          checked={choice.holdHot}
          onChecked={(holdHot) => choose({ holdHot })}
        />
      </Group>
      <SlowMemoryPicker device={choice.device} onDevice={(device) => choose({ device })} />
      <RatioView ratio={ratio} load={load} />
      {(ratio !== undefined || load.problem !== null) && (
        <>
          <PointsPanel serviceId={serviceId} ratio={ratio} />
          <NotesList notes={ratio?.notes} />
          <SwapTierPanel serviceId={serviceId} loss={target} />
        </>
      )}
    </Stack>
  )
}
