import createClient from 'openapi-fetch'
import type { paths } from './_generated/schema'
import { csrf } from './csrf'
import { narrowing } from './narrowing'
import { problemOf, unreachable } from './problem'
import { sessionKey } from './sessionKey'

/** The typed client. The dashboard is served by the API itself, so all requests go to its own origin. */
export const client = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => globalThis.fetch(request),
})
client.use(sessionKey, csrf, narrowing)

/** What the client makes of an answer. */
export interface Answer<T> {
  data?: T | undefined
  error?: unknown
  response: Response
}

async function answerOf<T>(request: Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await request
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === 'AbortError') throw failure
    throw unreachable()
  }
}

/** What an address answers where it is not asked for a file: many also hand out CSV, which is typed as text. */
export type DataOf<T> = [Exclude<T, string>] extends [never] ? T : Exclude<T, string>

/** The data of an answer. Throws ApiProblem with the cause and the next step where there is none. */
export async function dataOf<T>(request: Promise<Answer<T>>): Promise<DataOf<T>> {
  const answer = await answerOf(request)
  if (answer.data === undefined) throw problemOf(answer.response, answer.error)
  return answer.data as DataOf<T>
}

/** Waits for a change, which may be answered without data. Throws ApiProblem where it was refused. */
export async function doneBy<T>(request: Promise<Answer<T>>): Promise<T | undefined> {
  const answer = await answerOf(request)
  if (!answer.response.ok) throw problemOf(answer.response, answer.error)
  return answer.data
}
