//! One word for what a kernel does with the memory of a service, from what only the twin knows.
//!
//! The outcome (how many accesses are slow) is told apart from the mechanism, and amounts are relative to the service's own
//! memory, never to its host's.

use serde::Serialize;

/// Slow accesses below this share are a good outcome.
const GOOD_SLOW_SHARE: f64 = 0.10;
/// Moves below this share of the service's memory in a window are none.
const FEW_MOVES: f64 = 0.002;
/// Returns above this share of promotions are an exchange in vain.
const MANY_RETURNS: f64 = 0.30;
/// Candidates that are held back above this share hold promotion back.
const MOSTLY: f64 = 0.5;

/// The words of the product's verdicts that the twin can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// All of it is in DRAM, and nothing moves.
    Fits,
    /// Accesses are slow, and the settings promote nothing.
    Spill,
    /// Few accesses are slow.
    Healthy,
    /// Pages are demoted, few accesses are slow and hardly anything comes back.
    HarmlessDemotion,
    /// Promoted pages had been demoted shortly before.
    FutilePingPong,
    /// The rate limit holds hot pages back, and accesses are slow.
    LimiterBound,
    /// Hot pages are not promoted because DRAM is too full or moves fail, and accesses are slow.
    PromotionFailing,
    /// Other pages become hot, and promotion follows.
    FollowingPhases,
    /// Pages go to swap, or come back from it.
    SwapPressure,
    /// Accesses are slow, the settings promote, and nothing is found or moved.
    Stalled,
}

/// What a word is chosen by. Pages are base pages of one service on one host in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Facts {
    /// Share of accesses that went to the slow node.
    pub slow_share: f64,
    /// Pages in memory at the end.
    pub resident: u64,
    /// Of them: on the slow node.
    pub on_slow: u64,
    /// Moved to DRAM.
    pub promoted: u64,
    /// Moved to the slow node.
    pub demoted: u64,
    /// Promoted within ten minutes of their demotion.
    pub returned: u64,
    /// Found hot (each time it was found).
    pub candidates: u64,
    /// Of them: held back by the limit.
    pub limited: u64,
    /// Decided, but DRAM was too full or the move failed.
    pub refused: u64,
    /// To and from swap.
    pub swapped: u64,
    /// Whether the settings let pages be promoted.
    pub promotes: bool,
}

impl State {
    /// The word for what happened.
    pub fn of(facts: &Facts) -> Self {
        let few = (facts.resident as f64 * FEW_MOVES) as u64;
        if facts.swapped > few {
            return Self::SwapPressure;
        }
        if facts.on_slow == 0 && facts.promoted + facts.demoted <= few {
            return Self::Fits;
        }
        let exchanges = facts.promoted > few && facts.demoted > few;
        if exchanges && facts.returned as f64 > facts.promoted as f64 * MANY_RETURNS {
            return Self::FutilePingPong;
        }
        if facts.slow_share < GOOD_SLOW_SHARE {
            return match (facts.demoted > few, facts.promoted > few) {
                (true, false) => Self::HarmlessDemotion,
                (true, true) => Self::FollowingPhases,
                (false, _) => Self::Healthy,
            };
        }
        if !facts.promotes {
            return Self::Spill;
        }
        let tried = (facts.promoted + facts.refused + facts.limited).max(1) as f64;
        if facts.candidates > few && facts.limited as f64 > tried * MOSTLY {
            return Self::LimiterBound;
        }
        if facts.refused > few && facts.refused as f64 > tried * MOSTLY {
            return Self::PromotionFailing;
        }
        if facts.promoted > few {
            Self::FollowingPhases
        } else {
            Self::Stalled
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_facts() {
        let quiet = Facts {
            resident: 100_000,
            on_slow: 30_000,
            promotes: true,
            ..Facts::default()
        };
        let slow = Facts {
            slow_share: 0.4,
            ..quiet
        };
        let exchange = Facts {
            promoted: 5000,
            demoted: 5000,
            ..quiet
        };
        for (facts, state) in [
            (quiet, State::Healthy),
            (Facts { on_slow: 0, ..quiet }, State::Fits),
            (
                Facts {
                    swapped: 1000,
                    ..quiet
                },
                State::SwapPressure,
            ),
            (
                Facts {
                    demoted: 5000,
                    ..quiet
                },
                State::HarmlessDemotion,
            ),
            (exchange, State::FollowingPhases),
            (
                Facts {
                    returned: 4000,
                    ..exchange
                },
                State::FutilePingPong,
            ),
            (slow, State::Stalled),
            (
                Facts {
                    promotes: false,
                    ..slow
                },
                State::Spill,
            ),
            (
                Facts {
                    candidates: 9000,
                    limited: 8000,
                    promoted: 1000,
                    ..slow
                },
                State::LimiterBound,
            ),
            (
                Facts {
                    candidates: 9000,
                    refused: 8000,
                    promoted: 1000,
                    ..slow
                },
                State::PromotionFailing,
            ),
            (
                Facts {
                    promoted: 9000,
                    ..slow
                },
                State::FollowingPhases,
            ),
        ] {
            assert_eq!(State::of(&facts), state, "{facts:?}");
        }
    }

    #[test]
    fn slow_accesses_are_never_healthy() {
        for promoted in [0, 500, 50_000] {
            let facts = Facts {
                resident: 100_000,
                on_slow: 10,
                slow_share: 0.3,
                promoted,
                promotes: true,
                ..Facts::default()
            };
            assert_ne!(State::of(&facts), State::Healthy);
        }
    }
}
