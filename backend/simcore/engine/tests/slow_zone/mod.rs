//! The slower tier's own watermarks, and whose allocations wake kswapd, as simply as they can be written.

use crate::{At, Simple};

impl Simple<'_> {
    pub(crate) fn needs_kernel_page(&mut self) -> bool {
        self.allocated += 1;
        let every = self
            .params
            .kswapd
            .map_or(0, |kswapd| kswapd.kernel_page_units);
        let needs = self.allocated >= every;
        self.allocated = if needs { 0 } else { self.allocated };
        needs
    }

    /// Drops files of the slower tier up to its high watermark, where no more than low is free.
    pub(crate) fn keep_slow_free(&mut self) {
        let Some(kswapd) = self.params.kswapd else {
            return;
        };
        if self.free(At::Slow) > kswapd.slow_low_units as i64 {
            return;
        }
        while self.free(At::Slow) < kswapd.slow_high_units as i64
            && let Some(&victim) = self.victims(At::Slow, false, true).first()
        {
            self.set(victim, At::Dropped);
        }
    }
}
