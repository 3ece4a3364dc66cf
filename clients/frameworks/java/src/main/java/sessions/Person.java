package sessions;

import org.springframework.data.annotation.Id;
import org.springframework.data.redis.core.RedisHash;
import org.springframework.data.redis.core.TimeToLive;
import org.springframework.data.redis.core.index.GeoIndexed;
import org.springframework.data.redis.core.index.Indexed;
import org.springframework.data.geo.Point;

/** An entity of Spring's repositories: a hash, and sets as its indexes. */
@RedisHash("people")
public class Person {
  @Id String id;
  @Indexed String firstname;
  @Indexed String lastname;
  @GeoIndexed Point place;
  @TimeToLive Long seconds;

  public Person(String id, String firstname, String lastname, Point place, Long seconds) {
    this.id = id;
    this.firstname = firstname;
    this.lastname = lastname;
    this.place = place;
    this.seconds = seconds;
  }
}
