import { Button } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { problemText } from '../../api/problem'
import { logIn, loginMethodsQuery } from '../../api/queries/access/session'
import { loadStateOf } from '../../api/queries/base/loadState'
import { returnPath } from '../../lib/access/permissions'
import type { LoginSearch } from '../../lib/url/identityUrl'
import { Fault } from '../../ui/states/Fault'
import { ProblemState } from '../../ui/states/ProblemState'
import classes from './LoginPage.module.css'
import { PasswordField, TextField } from '../../ui/inputs/fields'

const route = getRouteApi('/login')

const errors: Record<NonNullable<LoginSearch['error']>, string> = {
  expired: 'The login timed out. Start again.',
  refused: 'The provider refused the login. Ask its administrators, then start again.',
  failed: 'The provider’s response could not be verified, so you were not logged in. The service’s log has the cause.',
  'not-allowed': 'You have no role here. Ask an administrator to map one of your groups to a role.',
  disabled: 'Your account is disabled. Ask an administrator.',
  unreachable: 'The provider does not answer. Try again in a minute, or ask your administrator.',
}

/** Logs in with a password or through the OpenID provider, and returns to where one was. */
export function LoginPage(): ReactNode {
  const { next, error } = route.useSearch()
  const back = returnPath(next)
  const query = useQuery(loginMethodsQuery())
  const load = loadStateOf(query)
  const methods = query.data
  return (
    <div className={classes.page} data-testid="page-login">
      <h1 className={classes.title}>Log in to Tierscope</h1>
      {error !== undefined && <Fault text={errors[error]} />}
      {load.problem !== null && methods === undefined && <ProblemState problem={load.problem} onRetry={load.retry} />}
      {methods !== undefined && methods.oidc !== null && (
        <Button
          component="a"
          size="sm"
          fullWidth
          variant={methods.password ? 'default' : 'filled'}
          href={`${methods.oidc.start_url}?next=${encodeURIComponent(back)}`}
        >
          Log in with {methods.oidc.label}
        </Button>
      )}
      {methods?.password === true && <PasswordForm back={back} />}
      {methods !== undefined && <FirstStart />}
    </div>
  )
}

function PasswordForm({ back }: { back: string }) {
  const queries = useQueryClient()
  const router = useRouter()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const entering = useMutation(logIn(queries))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    entering.mutate({ name: name.trim(), password }, { onSuccess: () => router.history.push(back) })
  }
  return (
    <form className={classes.form} aria-label="Log in with a password" onSubmit={submit}>
      <TextField label="Name" autoComplete="username" required size="sm" value={name} onText={setName} />
      <PasswordField
        label="Password"
        autoComplete="current-password"
        required
        size="sm"
        value={password}
        onText={setPassword}
      />
      <Button type="submit" size="sm" fullWidth loading={entering.isPending} disabled={name === '' || password === ''}>
        Log in
      </Button>
      {entering.error !== null && <Fault text={problemText(entering.error)} />}
    </form>
  )
}

/** What to do where nobody has an account yet, or a password is lost. */
function FirstStart() {
  return (
    <details className={classes.help} data-testid="first-start">
      <summary>First start, or no password?</summary>
      <p>
        The first start prints a one-time link for an administrator. On the machine that runs the service, create
        another one and open it here:
      </p>
      <pre tabIndex={0}>tierscope token link --role admin</pre>
      <p>
        An administrator then creates users under Administration and gives each a one-time link to set a password. Lost
        passwords are reset the same way.
      </p>
    </details>
  )
}
