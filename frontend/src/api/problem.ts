import type { QueryProblem } from './_generated/schema'
import type { ProblemText } from '../lib/loadState'

/** A failed request, with the cause and the next step that the service named. */
export class ApiProblem extends Error {
  readonly text: ProblemText
  /** After how many seconds the service wants to be asked again; null where it does not say. */
  readonly retryAfterSeconds: number | null

  constructor(text: ProblemText, retryAfterSeconds: number | null = null) {
    super(`${text.title}: ${text.detail}`)
    this.name = 'ApiProblem'
    this.text = text
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The members of problem+json (RFC 9457) that the dashboard shows; `next_step` is Tierscope's own. */
interface ProblemBody {
  title: string
  detail: string
  next_step?: string
}

function isProblem(body: unknown): body is ProblemBody {
  return (
    typeof body === 'object' &&
    body !== null &&
    'title' in body &&
    typeof body.title === 'string' &&
    'detail' in body &&
    typeof body.detail === 'string'
  )
}

/** A query's error in the shape that Prometheus gives it: `reason. Next step.` in one text. */
function isQueryProblem(body: unknown): body is QueryProblem {
  return typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string'
}

/** The problem in an answer's body, or one made from the status where the body is something else. */
export function problemOf({ status, headers }: Response, body: unknown): ApiProblem {
  return new ApiProblem(textOf(status, body), secondsOf(headers.get('Retry-After')))
}

function textOf(status: number, body: unknown): ProblemText {
  if (isProblem(body)) {
    return {
      status,
      title: body.title,
      detail: body.detail,
      nextStep: body.next_step ?? 'Correct the request, then retry.',
    }
  }
  if (isQueryProblem(body)) {
    return {
      status,
      title: 'The expression has no answer',
      detail: body.error,
      nextStep: 'Correct it, then draw it again.',
    }
  }
  return {
    status,
    title: `The service answered ${status}`,
    detail: 'The answer carries no explanation, so it probably comes from a proxy in between.',
    nextStep: 'Check `tierscope status` on the machine that runs the service, then retry.',
  }
}

/** The number of a Retry-After; null for a date, or where there is none. */
function secondsOf(header: string | null): number | null {
  return header !== null && /^\d+$/.test(header) ? Number(header) : null
}

/** The problem of a request that got no answer. */
export function unreachable(): ApiProblem {
  return new ApiProblem({
    status: 0,
    title: 'The service cannot be reached',
    detail: 'The request got no answer.',
    nextStep: 'Check the network and `tierscope status` on the machine that runs the service, then retry.',
  })
}

/** A failed change in one line: the cause and the next step. */
export function problemText(error: Error): string {
  return error instanceof ApiProblem
    ? `${error.text.detail.replace(/[.]?$/, '.')} ${error.text.nextStep}`
    : error.message
}
