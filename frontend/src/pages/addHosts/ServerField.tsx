import type { ServerAddress } from '../../lib/fleet/serverAddress'
import { StateNote } from '../../ui/states/StateNote'
import classes from './AddHosts.module.css'
import { TextField } from '../../ui/inputs/fields'

interface ServerFieldProps {
  typed: string
  /** What was typed, or what is wrong with it. */
  server: ServerAddress | string
  /** The name under which this page is open: agents may use it too. */
  pageHost: string
  onChange: (typed: string) => void
}

/** The address that agents send to, with what stands in their way there. */
export function ServerField({ typed, server, pageHost, onChange }: ServerFieldProps) {
  return (
    <div className={classes.server}>
      <TextField
        label="Address of this service, as the hosts reach it"
        value={typed}
        error={typeof server === 'string' ? server : undefined}
        onText={onChange}
        spellCheck={false}
      />
      {typeof server !== 'string' && <ServerNote server={server} pageHost={pageHost} />}
    </div>
  )
}

function ServerNote({ server, pageHost }: { server: ServerAddress; pageHost: string }) {
  if (server.isLoopback) {
    return (
      <StateNote tone="warning" testId="server-note">
        <p>
          <strong>Only this machine reaches {server.base}.</strong> For other hosts write an address that they reach.
          The service must listen on it (<code>TIERSCOPE_HOST</code>) and accept its name (
          <code>TIERSCOPE_ALLOWED_HOSTS</code>); <code>TIERSCOPE_PUBLIC_URL</code> fills in this field.
        </p>
      </StateNote>
    )
  }
  const other = new URL(server.base).hostname !== pageHost
  if (!server.needsAllowHttp && !other) return null
  return (
    <StateNote tone={server.needsAllowHttp ? 'warning' : 'info'} testId="server-note">
      {server.needsAllowHttp && (
        <p>
          Plain http: credentials and data travel unencrypted. Agents accept it only with <code>allow_http = true</code>
          , which the settings below contain. Prefer https.
        </p>
      )}
      {other && (
        <p>
          The service must listen on this address (<code>TIERSCOPE_HOST</code>) and accept its name (
          <code>TIERSCOPE_ALLOWED_HOSTS</code>). Check from a host:{' '}
          <code>curl --fail {server.base}/v1/login/methods</code>
        </p>
      )}
    </StateNote>
  )
}
