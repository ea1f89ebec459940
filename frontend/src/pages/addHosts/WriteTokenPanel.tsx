import { Button } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { NewToken, NewTokenRequest } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { SecretOnce } from '../../ui/inputs/SecretOnce'
import { Panel } from '../../ui/layout/Panel'
import { Fault } from '../../ui/states/Fault'
import { useSession } from '../shell/access/useSession'
import { TokenRefusal } from './TokenRefusal'

const request: NewTokenRequest = { role: 'operator', scopes: ['write:samples'], note: 'prometheus', days: 365 }

/** Makes the token with which Prometheus sends samples: it can do nothing else. */
export function WriteTokenPanel({ making }: { making: UseMutationResult<NewToken, Error, NewTokenRequest> }) {
  const { may } = useSession()
  return (
    <>
      <Panel title="Token for remote write" hint="it may send samples, nothing else, for a year" testId="write-token">
        {may('write:tokens') ? (
          <>
            <Button loading={making.isPending} onClick={() => making.mutate(request)}>
              Create token
            </Button>
            {making.error !== null && <Fault text={problemText(making.error)} />}
          </>
        ) : (
          <TokenRefusal
            what="a token"
            command="tierscope token api --role operator --scope write:samples --note prometheus"
          />
        )}
      </Panel>
      {making.data !== undefined && (
        <SecretOnce
          testId="made-write-token"
          what="The token is in the commands below. It is shown only until you leave this page."
          secret={making.data.token}
          onDone={making.reset}
        />
      )}
    </>
  )
}
