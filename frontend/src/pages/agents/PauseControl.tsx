import { Button, Popover } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PauseInfo } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { pauseAgents, resumeAgents } from '../../api/queries/fleet/agents'
import { Stack } from '../../ui/layout/Stack'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'

/** Pauses the agent of one host, or lets it go on. A pause of every host ends on the agents page. */
export function PauseControl({ hostId, pause }: { hostId: string; pause: PauseInfo }) {
  const { may } = useSession()
  if (!may('operate:agents') || pause.everywhere) return null
  return pause.heat_paused ? (
    <ResumeButton hostId={hostId} heatOnly={!pause.paused} what="this host" />
  ) : (
    <PauseButton hostId={hostId} />
  )
}

function PauseButton({ hostId }: { hostId: string }) {
  const [opened, setOpened] = useState(false)
  const pausing = useMutation(pauseAgents(useQueryClient()))
  const pause = (heatOnly: boolean) =>
    pausing.mutate({ host_id: hostId, heat_only: heatOnly }, { onSuccess: () => setOpened(false) })
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus width={280}>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconPlayerPause size={14} aria-hidden />}
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          Pause
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack>
          <span>The agent pauses within minutes. The pause leaves a gap in the data.</span>
          <Button variant="default" loading={pausing.isPending} onClick={() => pause(true)}>
            Pause heat only
          </Button>
          <Button color="red" loading={pausing.isPending} onClick={() => pause(false)}>
            Pause everything
          </Button>
          {pausing.error !== null && <Fault text={problemText(pausing.error)} />}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

interface ResumeButtonProps {
  /** Null ends the pauses of all hosts. */
  hostId: string | null
  heatOnly: boolean
  what: string
}

/** Ends pauses; says beside itself why it could not. */
export function ResumeButton({ hostId, heatOnly, what }: ResumeButtonProps) {
  const resuming = useMutation(resumeAgents(useQueryClient()))
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconPlayerPlay size={14} aria-hidden />}
        aria-label={`Resume ${what}`}
        loading={resuming.isPending}
        onClick={() => resuming.mutate({ host_id: hostId, heat_only: heatOnly })}
      >
        Resume
      </Button>
      {resuming.error !== null && <Fault text={problemText(resuming.error)} />}
    </>
  )
}
