import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { rulesQuery, vocabularyQuery } from '../../api/queries/alerts/rules'
import { wordsOf } from './stateWords'

const none: string[] = []

/** The names of the values of rules that watch a state: `ok`, `warn`, `crit`. None where a rule watches a number. */
export function useStateWords() {
  const rules = useQuery(rulesQuery(null))
  const vocabulary = useQuery(vocabularyQuery())
  return useCallback(
    (ruleId: string | null): string[] => {
      const rule = rules.data?.items.find(({ id }) => id === ruleId)
      return rule === undefined || rule.unit !== 'state'
        ? none
        : wordsOf(rule.normal_form, vocabulary.data?.series ?? [])
    },
    [rules.data, vocabulary.data],
  )
}

export type StateWords = ReturnType<typeof useStateWords>
