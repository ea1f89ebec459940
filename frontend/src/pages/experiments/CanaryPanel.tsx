import { Link } from '@tanstack/react-router'
import type { CanaryProposal, TrialHost } from '../../api/_generated/schema'
import { Columns } from '../../ui/layout/Columns'
import { Panel } from '../../ui/layout/Panel'
import { StateNote } from '../../ui/states/StateNote'
import { NotesList } from '../../ui/text/NotesList'
import { Prose } from '../../ui/text/Prose'
import { BundleButton } from '../knobs/BundleButton'
import classes from './ExperimentPage.module.css'

/** Who tries a change of the plan, who stays as a control, and the files for the canary hosts. */
export function CanaryPanel({ proposal }: { proposal: CanaryProposal }) {
  const { canary, control, missing } = proposal
  return (
    <Panel
      title={`Hosts that try ${proposal.setting} = ${proposal.proposed}`}
      hint={`${proposal.seed === null ? 'named' : 'drawn at random among peer hosts'}; you apply the change yourself, Tierscope changes nothing on hosts`}
      actions={
        <BundleButton
          choice={{
            changes: [proposal.change_id],
            hosts: canary.map(({ host_id: id }) => id),
            without: [],
          }}
          name={`tierscope-canaries-${proposal.change_id}`}
          label="Download bundle for canaries"
          disabled={canary.length === 0}
        />
      }
      testId="canary-proposal"
    >
      {missing !== null && (
        <StateNote tone="warning">
          <p>
            <Prose text={missing} />
          </p>
        </StateNote>
      )}
      {missing === null && (
        <Columns>
          <Arm
            title={`Canary: ${canary.length} ${canary.length === 1 ? 'host gets' : 'hosts get'} the change`}
            hosts={canary}
          />
          <Arm
            title={`Control: ${control.length} ${control.length === 1 ? 'host stays' : 'hosts stay'} unchanged until the end`}
            hosts={control}
          />
        </Columns>
      )}
      {proposal.excluded.length > 0 && (
        <ul className={classes.excluded} aria-label="Hosts of the change in no arm">
          {proposal.excluded.map((host) => (
            <li key={host.host_id}>
              {host.name}: <Prose text={host.why} />
            </li>
          ))}
        </ul>
      )}
      <NotesList notes={proposal.notes} />
    </Panel>
  )
}

function Arm({ title, hosts }: { title: string; hosts: TrialHost[] }) {
  return (
    <div className={classes.arm}>
      <h3>{title}</h3>
      <p>
        {hosts.map((host) => (
          <Link key={host.host_id} to="/hosts/$hostId" params={{ hostId: host.host_id }}>
            {host.name}
          </Link>
        ))}
      </p>
    </div>
  )
}
