import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { CapacitySubject } from '../../api/_generated/schema'
import { forecastQuery } from '../../api/queries/capacity/capacity'
import { loadStateOf } from '../../api/queries/base/loadState'
import { ForecastChart } from '../../charts/forecast/ForecastChart'
import { capacityHorizons, capacityMetrics } from '../../lib/url/capacityUrl'
import { Stack } from '../../ui/layout/Stack'
import { ForecastEvidence } from './ForecastEvidence'
import { daysOf, metricWords } from './forecastDays'
import { ServiceLink } from '../shell/links'

const route = getRouteApi('/capacity')

/** What the forecast of the chosen subject looks like, and what it rests on. */
export function ForecastPanel({ subject }: { subject: CapacitySubject | undefined }) {
  const { metric = 'resident', horizon = 180 } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(
    forecastQuery(
      subject === undefined ? undefined : { kind: subject.kind, id: subject.id, metric, horizonDays: horizon },
    ),
  )
  const forecast = query.data
  const days = useMemo(() => (forecast === undefined ? undefined : daysOf(forecast)), [forecast])
  const choose = (next: { metric?: typeof metric; horizon?: typeof horizon }) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const nothing = days !== undefined && days.history.every(({ value }) => value === null)
  return (
    <Stack testId="capacity-forecast">
      <ForecastChart
        title={
          <>
            Forecast of{' '}
            {subject?.kind === 'service' ? (
              <ServiceLink id={subject.id}>{subject.name}</ServiceLink>
            ) : (
              (subject?.name ?? '…')
            )}
          </>
        }
        hint="daily 95th percentile; days before a change point or a capacity change are excluded"
        days={days}
        load={loadStateOf(query)}
        height={320}
        empty={
          nothing
            ? {
                title: 'No full day measured yet',
                next: forecast?.refused ?? 'Daily points are computed once a day.',
              }
            : null
        }
        controls={
          <>
            <SegmentedControl
              aria-label="Metric"
              value={metric}
              onChange={(value) => choose({ metric: capacityMetrics.find((name) => name === value) ?? metric })}
              data={capacityMetrics.map((value) => ({ value, label: metricWords[value] }))}
            />
            <SegmentedControl
              aria-label="Days ahead"
              value={String(horizon)}
              onChange={(value) => choose({ horizon: capacityHorizons.find((at) => String(at) === value) ?? horizon })}
              data={capacityHorizons.map((value) => ({ value: String(value), label: `${value} d` }))}
            />
          </>
        }
      />
      <ForecastEvidence forecast={forecast} />
    </Stack>
  )
}
