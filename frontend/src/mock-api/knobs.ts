import type { HostKnobAdvice, KnobAdvice } from '../api/_generated/schema'
import { figure, mockWindow, nothing } from './figures'

const gib = 1024 ** 3

function advice(rule: string, title: string, path: string, current: string, proposed: string): KnobAdvice {
  return {
    rule,
    title,
    changes: [{ path, current, proposed, rollback: current }],
    evidence: [
      { metric: 'swap_out_pages_per_s', value: 312, unit: 'pages_per_s', figure: figure('x/1', 312, 'pages_per_s') },
      { metric: 'demotion_enabled', value: 0, unit: 'count', figure: null },
    ],
    effect: 'Cold pages go to CXL before they go to swap.',
    effect_figure: null,
    risk: 'Strict cpusets are not kept by demotion before 6.15.',
    verify: '`pgdemote_*` rises and `pswpout` falls within 10 minutes.',
    note: null,
    files: {
      sysctl: path.startsWith('/proc/sys') ? `${path.slice(10).replaceAll('/', '.')} = ${proposed}\n` : null,
      tmpfiles: path.startsWith('/sys') ? `w ${path} - - - - ${proposed}\n` : null,
      systemd: null,
      ansible: `- name: ${title}\n  ansible.builtin.shell: echo ${proposed} > ${path}\n`,
      commands: `echo ${proposed} > ${path}\n`,
      rollback_commands: `echo ${current} > ${path}\n`,
      udev: null,
      check_commands: `grep -H . ${path}\n`,
      forget_commands: `rm -f /etc/sysctl.d/99-z-tierscope-${rule.toLowerCase()}.conf\n`,
      destinations: path.startsWith('/proc/sys')
        ? [{ form: 'sysctl', path: `/etc/sysctl.d/99-z-tierscope-${rule.toLowerCase()}.conf` }]
        : [{ form: 'tmpfiles', path: `/etc/tmpfiles.d/99-z-tierscope-${rule.toLowerCase()}.conf` }],
    },
    advice_id: 'a-1',
    rules: [rule],
    sources: ['Documentation/ABI/testing/sysfs-kernel-mm-numa'],
  }
}

/** Knob advice as the API answers it. */
export function knobAdvice(hostId: string): HostKnobAdvice {
  return {
    host_id: hostId,
    origin: 'simulated',
    window: mockWindow,
    verdict: 'swap_pressure',
    explanation: 'Pages come back from swap while CXL has room.',
    leading: {
      hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', 41.2 * gib, 'bytes'),
      cold_in_dram_bytes: nothing(
        'heat.cold_in_dram_bytes/1',
        'bytes',
        'not_collected',
        'Heat is off: `heat.services`.',
      ),
    },
    subtracted: [{ what: 'mlocked_bytes', bytes: 64 * 1024 ** 2, why: 'Locked memory does not move.' }],
    advice: [advice('F2', 'Demote to CXL before swapping', '/sys/kernel/mm/numa/demotion_enabled', 'false', 'true')],
    waiting: [
      { advice: advice('F8', 'Swap less anon', '/proc/sys/vm/swappiness', '60', '20'), why: 'one change at a time' },
    ],
    nothing_to_do: null,
    unknown: [{ rule: 'F7', missing: ['access density by page kind'] }],
    knobs: [
      { path: '/proc/sys/vm/swappiness', current: '60', group_norm: '10', group_hosts: 12, differs: true },
      { path: '/proc/sys/vm/zone_reclaim_mode', current: '0', group_norm: '0', group_hosts: 12, differs: false },
      { path: '/sys/kernel/mm/lru_gen/enabled', current: null, group_norm: null, group_hosts: 12, differs: null },
    ],
    notes: [],
    withheld: [{ rule: 'F1', why: 'DAMON moves hot pages up here (migrate_hot).' }],
    notices: [],
  }
}
