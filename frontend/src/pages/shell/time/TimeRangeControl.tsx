import { Button, Group, Popover, SimpleGrid, Stack, Text, Tooltip } from '@mantine/core'
import { IconClock } from '@tabler/icons-react'
import { useMatches } from '@tanstack/react-router'
import { useState } from 'react'
import { formatUtc, formatWindow, relativeLabel, toLocalInput, toRfc3339, zoneName } from '../../../lib/units/time'
import { presets, resolveRange } from '../../../lib/url/timeRange'
import classes from './TimeRangeControl.module.css'
import { useConnection } from '../useConnection'
import { useNow } from './useNow'
import { useTimeRange } from './useTimeRange'
import { SwitchField, TextField } from '../../../ui/inputs/fields'

/** The time range of the whole app: relative, absolute, or moving with the clock. */
export function TimeRangeControl() {
  const { range, isLive, setRange, setLive } = useTimeRange()
  const now = useNow()
  const ofNow = useMatches({ select: (matches) => matches.at(-1)?.staticData.ofNow === true })
  const stale = useConnection().kind !== 'connected'
  const [opened, setOpened] = useState(false)
  const [start, setStart] = useState('')
  const [end, setEnd] = useState('')
  const resolved = resolveRange(range.from, range.to, now.getTime() / 1000)
  const [first, last] = [new Date(resolved.start * 1000), new Date(resolved.end * 1000)]
  const window = `${formatWindow(first, last)} · ${formatUtc(first)} – ${formatUtc(last)}`
  const relative = range.to === undefined ? relativeLabel(range.from) : null
  const valid = start !== '' && end !== '' && start < end
  const toggle = () => {
    setStart(toLocalInput(first))
    setEnd(toLocalInput(last))
    setOpened(!opened)
  }
  const choose = (from: string, to: string | undefined) => {
    setRange(from, to)
    setOpened(false)
  }
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus returnFocus>
      <Popover.Target>
        <Tooltip label={ofNow ? `This page tells of now. Charts elsewhere: ${window}` : window} disabled={opened}>
          <Button
            variant="default"
            leftSection={
              isLive ? (
                <span className={classes.live} data-stale={stale} data-testid="live-dot" aria-hidden />
              ) : (
                <IconClock size={14} />
              )
            }
            onClick={toggle}
            data-testid="time-range"
            className={classes.button}
          >
            <span className={classes.text}>{ofNow ? 'now' : (relative ?? formatWindow(first, last))}</span>
          </Button>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="sm" w={280}>
          {ofNow && (
            <Text size="xs" c="dimmed">
              This page tells of now. A range holds on the pages that have charts over time.
            </Text>
          )}
          <SimpleGrid cols={3} spacing={6}>
            {presets.map((preset) => (
              <Button
                key={preset}
                variant={range.from === preset && range.to === undefined ? 'light' : 'default'}
                onClick={() => choose(preset, undefined)}
              >
                {preset.slice(1)}
              </Button>
            ))}
          </SimpleGrid>
          <form
            onSubmit={(event) => {
              event.preventDefault()
              if (valid) choose(toRfc3339(Date.parse(start) / 1000), toRfc3339(Date.parse(end) / 1000))
            }}
          >
            <Stack gap={6}>
              <TextField type="datetime-local" label={`From (${zoneName(now)})`} value={start} onText={setStart} />
              <TextField
                type="datetime-local"
                label={`To (${zoneName(now)})`}
                value={end}
                onText={setEnd}
                error={start !== '' && end !== '' && !valid ? 'The end must come after the start.' : undefined}
              />
              <Button type="submit" disabled={!valid}>
                Apply
              </Button>
            </Stack>
          </form>
          <Group justify="space-between" wrap="nowrap">
            <Text size="xs" c="dimmed">
              {stale ? 'Live, but nothing new arrives.' : 'Live asks again every 30 s.'}
            </Text>
            <SwitchField label="Live" checked={isLive} onChecked={setLive} />
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
