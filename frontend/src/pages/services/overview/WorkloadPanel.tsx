import { useQuery } from '@tanstack/react-query'
import type { ServiceSummary } from '../../../api/_generated/schema'
import { serviceWorkloadQuery } from '../../../api/queries/simulate/serviceWorkload'
import { FigureText } from '../../../ui/figures/FigureText'
import { FactList } from '../../../ui/layout/FactList'
import { Panel } from '../../../ui/layout/Panel'
import { NotesList } from '../../../ui/text/NotesList'

/** Namespace of simulated services that stand for workloads of papers. */
const namespace = 'workload'

/** Of a simulated service that stands for a workload: its source, and what its paper measured beside what comes out. */
export function WorkloadPanel({ service }: { service: ServiceSummary }) {
  const stands = service.origin === 'simulated' && service.namespace === namespace
  const { data } = useQuery(serviceWorkloadQuery(stands ? service.id : null))
  const found = data?.stands_for ?? null
  if (found === null) return null
  return (
    <>
      <Panel title={`Simulated: ${found.label}`} hint={found.source} testId="service-workload">
        <FactList
          facts={[
            ...Object.entries(found.parameters),
            ['hot now', <FigureText key="hot" figure={found.hot_ratio} label="Hot share now" />],
            [
              'hot memory in DRAM now',
              <FigureText key="dram" figure={found.hot_in_dram_ratio} label="Hot in DRAM now" />,
            ],
          ]}
        />
      </Panel>
      <NotesList notes={found.measured.map((text) => `Measured on real hosts, ${text}.`)} />
    </>
  )
}
