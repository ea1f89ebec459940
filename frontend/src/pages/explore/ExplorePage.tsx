import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { mostCharts } from '../../lib/url/exploreUrl'
import { Headline } from '../../ui/layout/Headline'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import { EventsControl } from '../shell/time/EventsControl'
import { useEventMarks } from '../shell/time/useEventMarks'
import { ExpressionChart } from './ExpressionChart'
import { ExpressionForm } from './ExpressionForm'

const route = getRouteApi('/explore')

const examples = [
  ['Promotions by host', 'sum by (host) (rate(tierscope_host_promoted_pages_total[5m]))'],
  ['Memory pressure by host', 'tierscope_host_memory_pressure_some_ratio'],
  ['Heat of services by class', 'sum by (service, class) (tierscope_service_heat_bytes)'],
] as const

/** Charts of any counters: PromQL expressions in the address, which a saved view keeps as a board. */
export function ExplorePage(): ReactNode {
  const { expr: expressions = [] } = route.useSearch()
  const navigate = route.useNavigate()
  const events = useEventMarks('fleet')
  const show = (next: string[]) =>
    void navigate({
      search: (before) => ({ ...before, expr: next.length === 0 ? undefined : next }),
      resetScroll: false,
    })
  return (
    <div data-testid="page-explore">
      <Headline
        kicker={<h1>Explore</h1>}
        sentence="Any counters of any hosts and services, by PromQL. A saved view keeps these charts as a board."
        aside={<EventsControl events={events} />}
      />
      <Stack>
        {expressions.length === 0 && (
          <EmptyState
            title="No chart yet"
            next={
              <>
                Type an expression below, or start with{' '}
                {examples.map(([label, expression], index) => (
                  <span key={label}>
                    {index > 0 && ' · '}
                    <Link to="/explore" search={(before) => ({ ...before, expr: [expression] })}>
                      {label}
                    </Link>
                  </span>
                ))}
              </>
            }
          />
        )}
        {expressions.map((expression, index) => (
          <div key={`${index} ${expression}`}>
            <ExpressionForm
              expression={expression}
              onExpression={(next) => show(expressions.with(index, next))}
              onRemove={() => show(expressions.toSpliced(index, 1))}
            />
            <ExpressionChart name={`expression-${index}`} expression={expression} marks={events.marks} />
          </div>
        ))}
        {expressions.length < mostCharts && (
          <ExpressionForm expression="" onExpression={(next) => show([...expressions, next])} />
        )}
      </Stack>
    </div>
  )
}
