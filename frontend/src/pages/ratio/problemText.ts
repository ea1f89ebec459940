import { ApiProblem } from '../../api/problem'

/** A failed change in one line: the cause and the next step. */
export function problemText(error: Error): string {
  return error instanceof ApiProblem
    ? `${error.text.detail.replace(/[.]?$/, '.')} ${error.text.nextStep}`
    : error.message
}
