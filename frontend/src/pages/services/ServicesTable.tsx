import { Link } from '@tanstack/react-router'
import type { ServiceSummary } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { methodName } from '../../lib/units/figure'
import { formatBytes } from '../../lib/units/units'
import { HeatBar } from '../../ui/figures/HeatBar'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn } from '../../ui/tables/figureColumn'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import classes from './ServicesTable.module.css'
import { ServiceLink } from '../shell/links'

const columns: Column<ServiceSummary>[] = [
  {
    key: 'name',
    header: 'Service',
    sortBy: (service) => `${service.name} ${service.namespace}`,
    cell: (service) => (
      <div className={classes.name}>
        <ServiceLink id={service.id}>{service.name}</ServiceLink>
        <span className={classes.namespace}>{service.namespace}</span>
      </div>
    ),
    value: (service) => service.name,
  },
  { key: 'namespace', header: 'Namespace', only: 'download', cell: (service) => service.namespace },
  {
    key: 'gain',
    header: 'Net saving\na year',
    meaning: 'What memory behind CXL at the safe ratio saves a year, net of what takes the place of DRAM.',
    numeric: true,
    sortBy: (service) => service.gain?.net_per_year ?? null,
    value: ({ gain }) =>
      gain === null ? null : { amount: gain.net_per_year, unit: `${gain.currency ?? 'USD'} a year` },
    cell: (service) => <GainCell service={service} />,
  },
  {
    key: 'ratio',
    header: 'Safe ratio,\nDRAM freed',
    name: 'Safe ratio',
    sortBy: (service) => service.gain?.dram_freed_bytes ?? null,
    value: (service) => (service.gain === null ? null : (service.gain.ratio ?? 'all DRAM')),
    cell: ({ gain }) =>
      gain === null ? (
        <Nothing status="not_enough_data" reason="Its ratio is not judged yet." />
      ) : (
        <div className={classes.method} title={gain.why_not ?? undefined}>
          {gain.ratio ?? 'all DRAM'}
          <span>
            {gain.dram_freed_bytes === null ? '' : `${formatBytes(gain.dram_freed_bytes)}, `}
            {gain.grade ?? ''}
          </span>
        </div>
      ),
  },
  {
    key: 'hosts',
    header: 'Hosts\n(heat)',
    numeric: true,
    sortBy: (service) => service.n_hosts,
    cell: (service) => (
      <span title={`heat is measured on ${service.n_hosts_with_heat} of ${service.n_hosts}`}>
        {service.n_hosts} <span className={classes.dimmed}>({service.n_hosts_with_heat})</span>
      </span>
    ),
  },
  labelledColumn('resident', 'Resident', (service) => [service.resident_bytes, `Resident memory of ${service.name}`], {
    sorted: true,
  }),
  labelledColumn('anon', 'Anon', (service) => [service.anon_ratio, `Anonymous share of ${service.name}`], {
    sorted: true,
    only: 'download',
  }),
  {
    key: 'heat',
    header: 'Hot · warm · cold',
    name: 'Warm',
    value: (service) => service.warm_ratio,
    cell: (service) => <HeatBar hot={service.hot_ratio} warm={service.warm_ratio} cold={service.cold_ratio} />,
  },
  labelledColumn('hot', 'Hot', (service) => [service.hot_ratio, `Hot share of ${service.name}`], { sorted: true }),
  labelledColumn('cold', 'Cold', (service) => [service.cold_ratio, `Cold share of ${service.name}`], { sorted: true }),
  labelledColumn(
    'coldInDram',
    'Cold in\nDRAM',
    (service) => [service.cold_in_dram_bytes, `Cold memory of ${service.name} in DRAM`],
    { sorted: true },
  ),
  labelledColumn(
    'promoted',
    'Promoted\npages/s',
    (service) => [service.promotion_pages_per_s, `Promotions of ${service.name}`],
    { sorted: true, bare: true },
  ),
  labelledColumn(
    'demoted',
    'Demoted\npages/s',
    (service) => [service.demotion_pages_per_s, `Demotions of ${service.name}`],
    { sorted: true, bare: true },
  ),
  labelledColumn(
    'psi',
    'PSI\nsome',
    (service) => [service.psi_memory_some_ratio, `Memory pressure of ${service.name}`],
    { sorted: true },
  ),
  {
    key: 'verdict',
    header: 'Gravest verdict\non its hosts',
    sortBy: (service) => service.verdict,
    cell: (service) => <VerdictTag verdict={service.verdict} />,
  },
  {
    key: 'method',
    header: 'Method',
    sortBy: (service) => service.method,
    cell: (service) => (
      <div className={classes.method} title={methodName(service.method)}>
        {service.method ?? 'none'}
        <span>{service.hot_ratio.grade}</span>
      </div>
    ),
  },
]

/** What a service saves, with its interval; leads to exactly that scenario. */
function GainCell({ service: { id, gain } }: { service: ServiceSummary }) {
  if (gain === null) return <Nothing status="not_enough_data" reason="Its ratio is not judged yet." />
  const { how, net_per_year: net, net_per_year_p10: low, net_per_year_p90: high, currency } = gain
  if (how === null || net === null || low === null || high === null)
    return <Nothing status="not_enough_data" reason={gain.why_not ?? 'It is not costed.'} />
  return (
    <div className={classes.method} title={gain.why_not ?? 'Median and 80 % interval over prices and losses.'}>
      <Link to="/tco" search={{ start: how, service: id, share: gain.dram_ratio }}>
        {formatMoneyChange(net, currency ?? '')}
      </Link>
      <span>
        {formatMoney(low, currency ?? '')} to {formatMoney(high, currency ?? '')}
      </span>
    </div>
  )
}

interface ServicesTableProps {
  services: ServiceSummary[] | undefined
  sort: string
  onSort: (sort: string) => void
}

/** Services with their memory, heat, tier moves and verdict; every number opens its evidence. */
export function ServicesTable({ services, sort, onSort }: ServicesTableProps) {
  return (
    <DataTable
      label="Services"
      columns={columns}
      rows={services}
      rowKey={(service) => service.id}
      sort={sort}
      onSort={onSort}
      skeletonRows={8}
      empty={{
        title: 'No services',
        next: 'Services appear when an agent finds processes of a unit, a pod or a rule. Check the agents on the Status page, or clear the filter.',
      }}
    />
  )
}
