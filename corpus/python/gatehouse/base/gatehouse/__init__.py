from .bucket import Bucket
from .limiter import Limiter
from .wsgi import RateLimited

__all__ = ["Bucket", "Limiter", "RateLimited"]
