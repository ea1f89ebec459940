import { Link } from '@tanstack/react-router'
import type { ServiceSummary } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { methodName } from '../../lib/units/figure'
import { formatBytes } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { HeatBar } from '../../ui/figures/HeatBar'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import classes from './ServicesTable.module.css'

const columns: Column<ServiceSummary>[] = [
  {
    key: 'name',
    header: 'Service',
    sortBy: (service) => `${service.name} ${service.namespace}`,
    cell: (service) => (
      <div className={classes.name}>
        <Link to="/services/$serviceId" params={{ serviceId: service.id }}>
          {service.name}
        </Link>
        <span className={classes.namespace}>{service.namespace}</span>
      </div>
    ),
    value: (service) => service.name,
  },
  { key: 'namespace', header: 'Namespace', only: 'download', cell: (service) => service.namespace },
  {
    key: 'gain',
    header: (
      <>
        Net saving
        <br />a year
      </>
    ),
    name: 'Net saving a year',
    meaning: 'What memory behind CXL at the safe ratio saves a year, net of what takes the place of DRAM.',
    numeric: true,
    sortBy: (service) => service.gain?.net_per_year_p10 ?? null,
    value: ({ gain }) =>
      gain === null ? null : { amount: gain.net_per_year, unit: `${gain.currency ?? 'USD'} a year` },
    cell: (service) => <GainCell service={service} />,
  },
  {
    key: 'ratio',
    header: (
      <>
        Safe ratio,
        <br />
        DRAM freed
      </>
    ),
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
    header: (
      <>
        Hosts
        <br />
        (heat)
      </>
    ),
    numeric: true,
    sortBy: (service) => service.n_hosts,
    cell: (service) => (
      <span title={`heat is measured on ${service.n_hosts_with_heat} of ${service.n_hosts}`}>
        {service.n_hosts} <span className={classes.dimmed}>({service.n_hosts_with_heat})</span>
      </span>
    ),
  },
  {
    key: 'resident',
    header: 'Resident',
    numeric: true,
    sortBy: (service) => service.resident_bytes.value,
    cell: (service) => <FigureText figure={service.resident_bytes} label={`Resident memory of ${service.name}`} />,
  },
  {
    key: 'anon',
    only: 'download',
    header: 'Anon',
    numeric: true,
    sortBy: (service) => service.anon_ratio.value,
    cell: (service) => <FigureText figure={service.anon_ratio} label={`Anonymous share of ${service.name}`} />,
  },
  {
    key: 'heat',
    header: 'Hot · warm · cold',
    name: 'Warm',
    value: (service) => service.warm_ratio,
    cell: (service) => <HeatBar hot={service.hot_ratio} warm={service.warm_ratio} cold={service.cold_ratio} />,
  },
  {
    key: 'hot',
    header: 'Hot',
    numeric: true,
    sortBy: (service) => service.hot_ratio.value,
    cell: (service) => <FigureText figure={service.hot_ratio} label={`Hot share of ${service.name}`} />,
  },
  {
    key: 'cold',
    header: 'Cold',
    numeric: true,
    sortBy: (service) => service.cold_ratio.value,
    cell: (service) => <FigureText figure={service.cold_ratio} label={`Cold share of ${service.name}`} />,
  },
  {
    key: 'coldInDram',
    header: (
      <>
        Cold in
        <br />
        DRAM
      </>
    ),
    name: 'Cold in DRAM',
    numeric: true,
    sortBy: (service) => service.cold_in_dram_bytes.value,
    cell: (service) => (
      <FigureText figure={service.cold_in_dram_bytes} label={`Cold memory of ${service.name} in DRAM`} />
    ),
  },
  {
    key: 'promoted',
    header: (
      <>
        Promoted
        <br />
        pages/s
      </>
    ),
    numeric: true,
    sortBy: (service) => service.promotion_pages_per_s.value,
    cell: (service) => (
      <FigureText figure={service.promotion_pages_per_s} label={`Promotions of ${service.name}`} bare />
    ),
  },
  {
    key: 'demoted',
    header: (
      <>
        Demoted
        <br />
        pages/s
      </>
    ),
    numeric: true,
    sortBy: (service) => service.demotion_pages_per_s.value,
    cell: (service) => <FigureText figure={service.demotion_pages_per_s} label={`Demotions of ${service.name}`} bare />,
  },
  {
    key: 'psi',
    header: (
      <>
        PSI
        <br />
        some
      </>
    ),
    numeric: true,
    sortBy: (service) => service.psi_memory_some_ratio.value,
    cell: (service) => (
      <FigureText figure={service.psi_memory_some_ratio} label={`Memory pressure of ${service.name}`} />
    ),
  },
  {
    key: 'verdict',
    header: (
      <>
        Gravest verdict
        <br />
        on its hosts
      </>
    ),
    name: 'Gravest verdict on its hosts',
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
