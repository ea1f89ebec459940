import createClient from 'openapi-fetch'
import type { paths } from './_generated/schema'
import { csrf } from './csrf'
import { problemOf, unreachable } from './problem'

/** The typed client. The dashboard is served by the API itself, so all requests go to its own origin. */
export const client = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request) => globalThis.fetch(request),
})
client.use(csrf)

interface Answer<T> {
  data?: T | undefined
  error?: unknown
  response: Response
}

/** The data of an answer. Throws ApiProblem with the cause and the next step where there is none. */
export async function dataOf<T>(request: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>
  try {
    answer = await request
  } catch (failure) {
    if (failure instanceof DOMException && failure.name === 'AbortError') throw failure
    throw unreachable()
  }
  if (answer.data === undefined) throw problemOf(answer.response.status, answer.error)
  return answer.data
}
