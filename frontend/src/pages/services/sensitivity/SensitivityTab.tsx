import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Sensitivity } from '../../../api/_generated/schema'
import { hostsQuery } from '../../../api/queries/fleet/hosts'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { sensitivityQuery } from '../../../api/queries/sensitivity'
import type { ChartMark } from '../../../charts/eventMarks'
import { SensitivityChart } from '../../../charts/sensitivity/SensitivityChart'
import { askOther, useBeside, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { ElasticityPanel } from './ElasticityPanel'
import { HeatIndexPanel } from './HeatIndexPanel'
import { NotesList } from '../../../ui/text/NotesList'
import { Stack } from '../../../ui/layout/Stack'
import classes from '../overview/OverviewTab.module.css'
import { StabilitySection } from './StabilitySection'

const route = getRouteApi('/services/$serviceId')

interface SensitivityTabProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

function drawnOf(sensitivity: Sensitivity): Sensitivity | null {
  return sensitivity.scatter.length > 0 ? sensitivity : null
}

/** How throughput follows memory in DRAM, or why that cannot be told; and how steady memory is. */
export function SensitivityTab({ serviceId, marks, comparison }: SensitivityTabProps) {
  const search = route.useSearch()
  const kind = search.kind === 'file' ? 'file' : 'anon'
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const query = useQuery(sensitivityQuery(serviceId, range))
  const other = askOther(comparison, serviceId, range)
  const drawn = useQuery(sensitivityQuery(serviceId, other.ownRange))
  const otherQuery = useQuery({ ...sensitivityQuery(other.id, other.range), ...other.options })
  const beside = useBeside(comparison, otherQuery, drawnOf)
  const hosts = useQuery(hostsQuery(null, serviceId))
  const names = useMemo(() => new Map(hosts.data?.items.map((host) => [host.id, host.name])), [hosts.data])
  const sensitivity = query.data
  return (
    <Stack testId="sensitivity">
      <div className={classes.wide}>
        <SensitivityChart
          sensitivity={drawn.data}
          kind={kind}
          hosts={names}
          beside={beside}
          load={loadStateOf(drawn)}
          height={340}
          controls={
            <SegmentedControl
              aria-label="Page kind"
              value={kind}
              onChange={(value) =>
                void navigate({
                  search: (before) => ({ ...before, kind: value === 'file' ? 'file' : undefined }),
                  resetScroll: false,
                })
              }
              data={['anon', 'file']}
            />
          }
        />
        <Stack>
          <ElasticityPanel sensitivity={sensitivity} load={loadStateOf(query)} />
          <HeatIndexPanel index={sensitivity?.heat_index} />
        </Stack>
      </div>
      <NotesList notes={sensitivity?.notes} />
      <StabilitySection serviceId={serviceId} marks={marks} comparison={comparison} />
    </Stack>
  )
}
