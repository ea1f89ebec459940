/** Words for the figures that an agent's bench measures. */

const names: Record<string, string> = {
  idle_latency: 'Idle latency',
  idle_latency_small_pages: 'Idle latency, 4 KiB pages',
  load_latency: 'Load latency',
  store_writeback_latency: 'Store and write-back latency',
  nt_store_latency: 'Non-temporal store latency',
  read_bandwidth: 'Read bandwidth',
  write_bandwidth: 'Write bandwidth',
  nt_write_bandwidth: 'Non-temporal write bandwidth',
  mixed_bandwidth: 'Mixed bandwidth',
  loaded_latency: 'Loaded latency',
}

/** The name of a figure in words; one that is new to this dashboard is shown readably. */
export function benchName(name: string): string {
  return names[name] ?? name.replaceAll('_', ' ')
}

/** How a figure was measured: access pattern, block size, threads. */
export function benchHow(figure: { pattern: string | null; block_bytes: number | null; threads: number }): string {
  const block =
    figure.block_bytes === null
      ? null
      : figure.block_bytes < 1024
        ? `${figure.block_bytes} B blocks`
        : `${figure.block_bytes / 1024} KiB blocks`
  const threads = `${figure.threads} ${figure.threads === 1 ? 'thread' : 'threads'}`
  return [figure.pattern, block, threads].filter((part) => part !== null).join(', ')
}
