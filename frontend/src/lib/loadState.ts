/** What went wrong, in the words of problem+json: the cause and the next step. */
export interface ProblemText {
  /** HTTP status; 0 where no answer came at all. */
  status: number
  title: string
  detail: string
  nextStep: string
}

/** How far the data of a panel is. `problem` with data present means that a refresh failed and old data is shown. */
export interface LoadState {
  pending: boolean
  refreshing: boolean
  problem: ProblemText | null
  retry: () => void
}
