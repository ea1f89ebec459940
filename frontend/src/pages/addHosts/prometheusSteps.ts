import { quoted, shellWord } from '../../lib/text/quoting'
import type { InstallStep } from './installStep'

/** What a fleet with node_exporter and Prometheus needs to send its samples here; no agent is installed. */
export function prometheusSteps(server: string, token: string): InstallStep[] {
  return [
    {
      title: 'Enable the tiering counters in node_exporter',
      where: 'on each host',
      note: 'Its defaults drop most of them: without the first flag there is no ledger of tier moves. docs/howto/prometheus.md says what each flag adds.',
      text: [
        'prometheus-node-exporter \\',
        "  --collector.vmstat.fields='^(oom_kill|pg|numa_|nr_|pswp|zswp|workingset_|allocstall|compact_|thp_|slabs_scanned|kswapd_).*' \\",
        '  --collector.meminfo_numa \\',
        '  --collector.zoneinfo \\',
        '  --collector.sysctl --collector.sysctl.include=kernel.numa_balancing \\',
        '  --collector.sysctl.include=kernel.numa_balancing_promote_rate_limit_MBps',
      ].join('\n'),
    },
    {
      title: 'Store the token',
      where: 'on the Prometheus server, as root',
      note: 'A token with the permission to send samples, and no other.',
      text: [
        `(umask 077; printf '%s' ${shellWord(token)} > /etc/prometheus/tierscope-token)`,
        'chown prometheus: /etc/prometheus/tierscope-token',
      ].join('\n'),
    },
    {
      title: 'Add remote write',
      where: 'in prometheus.yml',
      note: 'Remote write 1.0. Leave `write_relabel_configs` out to keep every series.',
      text: [
        'remote_write:',
        `  - url: ${quoted(`${server}/api/v1/write`)}`,
        '    authorization:',
        '      credentials_file: "/etc/prometheus/tierscope-token"',
        '    write_relabel_configs:',
        '      - source_labels: ["__name__"]',
        '        regex: "node_.*|tierscope_.*|up|container_memory_(usage_bytes|rss|cache|mapped_file|swap)"',
        '        action: "keep"',
        '    queue_config:',
        '      max_samples_per_send: 5000',
      ].join('\n'),
    },
    {
      title: 'Check and reload',
      where: 'on the Prometheus server, as root',
      note: 'Hosts appear below a minute after the first scrape. Page heat needs the agent: Prometheus does not have it.',
      text: 'promtool check config /etc/prometheus/prometheus.yml && systemctl reload prometheus',
    },
  ]
}
