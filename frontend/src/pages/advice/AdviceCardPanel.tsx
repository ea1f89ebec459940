import { Button, Group } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { AdviceCard } from '../../api/_generated/schema'
import { formatMoneyChange } from '../../lib/tco/money'
import { formatBytes } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { ToneTag, type Tone } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import { AdviceDecision } from './AdviceDecision'
import { AdviceEvidence } from './AdviceEvidence'
import classes from './AdvicePage.module.css'
import { ServiceLink } from '../shell/links'

const tones: Record<AdviceCard['status'], { tone: Tone; label: string }> = {
  open: { tone: 'info', label: 'open' },
  adopted: { tone: 'good', label: 'adopted' },
  dismissed: { tone: 'neutral', label: 'dismissed' },
  gone: { tone: 'neutral', label: 'no longer applies' },
}
const mostHosts = 8

/** One card: what is advised for whom and what is at stake; it opens to its evidence, formula and inputs. */
export function AdviceCardPanel({ card }: { card: AdviceCard }) {
  const navigate = useNavigate()
  const [opened, setOpened] = useState(false)
  const evidence = `evidence-${card.id}`
  return (
    <Panel
      title={<Prose text={card.title} />}
      hint={
        card.service_id !== null ? (
          <ServiceLink id={card.service_id} tab="advice">
            {card.subject_name}
          </ServiceLink>
        ) : card.hosts > 1 ? (
          `${card.hosts} hosts`
        ) : (
          card.subject_name
        )
      }
      actions={
        <Group gap={12} wrap="nowrap">
          {card.gain?.net_per_year != null && (
            <strong title={card.gain.why_not ?? 'net of what takes the place of DRAM'}>
              {formatMoneyChange(card.gain.net_per_year, card.gain.currency ?? '')} a year
            </strong>
          )}
          {card.stake_bytes !== null && (
            <strong title="hot memory outside DRAM plus cold memory in DRAM">
              {formatBytes(card.stake_bytes)} at stake
            </strong>
          )}
          <ToneTag {...tones[card.status]} />
        </Group>
      }
      testId="advice-card"
    >
      <div className={classes.body}>
        <p className={classes.sentence}>
          <Prose text={card.sentence} />
        </p>
        <div className={classes.meta}>
          <span>
            evaluated <Timestamp at={card.refreshed_at} />
          </span>
          <span>
            expires <Timestamp at={card.expires_at} />
          </span>
          {card.decided_by !== null && (
            <span>
              {card.status} by {card.decided_by}
              {card.note !== null && card.note !== '' ? `: ${card.note}` : ''}
            </span>
          )}
        </div>
        {card.service_id === null && <AdviceHosts card={card} />}
        <Group gap={8} wrap="wrap">
          <Button
            variant="default"
            aria-expanded={opened}
            aria-controls={evidence}
            onClick={() => setOpened(!opened)}
            data-testid="open-evidence"
          >
            {opened ? 'Close' : 'Evidence, formula and inputs'}
          </Button>
          <Button
            variant="default"
            onClick={() =>
              void navigate({
                to: '/experiments/new',
                search: { advice: card.id, service: card.service_id ?? undefined },
              })
            }
          >
            Start experiment
          </Button>
          <AdviceDecision card={card} />
        </Group>
        <div id={evidence} className={classes.evidence}>
          {opened && <AdviceEvidence card={card} />}
        </div>
      </div>
    </Panel>
  )
}

function AdviceHosts({ card }: { card: AdviceCard }) {
  const shown = card.host_ids.slice(0, mostHosts)
  return (
    <p className={classes.hosts}>
      Hosts:{' '}
      {shown.map((hostId) => (
        <Link key={hostId} to="/hosts/$hostId" params={{ hostId }} search={{ tab: 'advice' }}>
          {card.hosts === 1 ? card.subject_name : hostId}
        </Link>
      ))}
      {card.host_ids.length > shown.length && `and ${card.host_ids.length - shown.length} more`}
    </p>
  )
}
