import classes from './LoginPage.module.css'

/** What to do where nobody has an account yet, or a password is lost. */
export function FirstStart() {
  return (
    <details className={classes.help} data-testid="first-start">
      <summary>First start, or no password?</summary>
      <p>
        The first start prints a one-time link for an administrator. On the machine that runs the service, make another
        one and open it here:
      </p>
      <pre tabIndex={0}>tierscope token link --role admin</pre>
      <p>
        An administrator then makes users under Administration and hands each a one-time link to set a password. Lost
        passwords are renewed the same way.
      </p>
    </details>
  )
}
