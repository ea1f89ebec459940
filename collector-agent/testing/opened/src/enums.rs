//! Values outside of an enumeration are refused.

use tierscope_sample::heat::{Backend, Granularity, PageKind};
use tierscope_wire::proto;

use crate::error::OpenError;

pub(crate) fn kind_from(value: i32) -> Result<PageKind, OpenError> {
    match proto::PageKind::try_from(value) {
        Ok(proto::PageKind::Anon) => Ok(PageKind::Anon),
        Ok(proto::PageKind::File) => Ok(PageKind::File),
        Ok(proto::PageKind::Tmpfs) => Ok(PageKind::Tmpfs),
        _ => Err(OpenError::Invalid(format!("unknown page kind {value}"))),
    }
}

pub(crate) fn backend_from(value: i32) -> Result<Backend, OpenError> {
    match proto::HeatBackend::try_from(value) {
        Ok(proto::HeatBackend::Pebs) => Ok(Backend::Pebs),
        Ok(proto::HeatBackend::Ibs) => Ok(Backend::Ibs),
        Ok(proto::HeatBackend::Spe) => Ok(Backend::Spe),
        Ok(proto::HeatBackend::AbitWalk) => Ok(Backend::AbitWalk),
        Ok(proto::HeatBackend::IdlePage) => Ok(Backend::IdlePage),
        Ok(proto::HeatBackend::DamonPages) => Ok(Backend::DamonPages),
        Ok(proto::HeatBackend::DamonRegions) => Ok(Backend::DamonRegions),
        Ok(proto::HeatBackend::Referenced) => Ok(Backend::Referenced),
        Ok(proto::HeatBackend::Trace) => Ok(Backend::Trace),
        _ => Err(OpenError::Invalid(format!("unknown heat backend {value}"))),
    }
}

pub(crate) fn granularity_from(value: i32) -> Result<Granularity, OpenError> {
    match proto::Granularity::try_from(value) {
        Ok(proto::Granularity::Page) => Ok(Granularity::Page),
        Ok(proto::Granularity::Region) => Ok(Granularity::Region),
        Ok(proto::Granularity::Vma) => Ok(Granularity::Vma),
        _ => Err(OpenError::Invalid(format!("unknown granularity {value}"))),
    }
}
